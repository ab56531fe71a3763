/** Services, checks and script settings in configuration files, with Consul's names. */
import t from 'tap'
import { DEFINITIONS_MAX, SERVICE_CHECKS_MAX } from '../../src/process/config-services.ts'
import { load, refusal, smallest } from './config-files.ts'

const web = { fields: { name: 'web', port: 80 }, checks: [{ name: 'up', ttl: '30s' }] }

void t.test('every way of writing services and checks is read, over all files', async (t) => {
  const block = `service {\n  name = "web"\n  port = 80\n  check {\n    name = "up"\n    ttl = "30s"\n  }\n}\n`
  const value = `services = [{ name = "web", port = 80, checks = [{ name = "up", ttl = "30s" }] }]\n`
  const attribute = `service = { name = "web", port = 80, check = { name = "up", ttl = "30s" } }\n`
  const json = JSON.stringify({
    service: { name: 'web', port: 80, check: { name: 'up', ttl: '30s' } },
    check: { name: 'disk', args: ['/bin/true'], interval: '10s' },
    checks: [{ name: 'beat', ttl: '1m' }],
  })
  for (const text of [block, value, attribute]) {
    const config = await load(t, { 'a.hcl': `${smallest}${text}` })
    t.same(config.definitions, { services: [web], checks: [] }, text)
  }
  const two = await load(t, {
    'a.hcl': `${smallest}${block}${block}`,
    'b.hcl': attribute,
    'c.json': json,
  })
  t.same(two.definitions, {
    services: [web, web, web, web],
    checks: [
      { name: 'disk', args: ['/bin/true'], interval: '10s' },
      { name: 'beat', ttl: '1m' },
    ],
  })
})

void t.test('of the two keys for scripts the wider one wins', async (t) => {
  const rows = [
    ['', 'none'],
    ['enable_local_script_checks = true', 'files'],
    ['enable_script_checks = true', 'all'],
    ['enable_script_checks = true\nenable_local_script_checks = false', 'all'],
    ['enable_script_checks = false\nenable_local_script_checks = true', 'files'],
  ] as const
  for (const [text, expected] of rows) {
    const { scriptChecks } = await load(t, { 'a.hcl': `${smallest}${text}` })
    t.equal(scriptChecks, expected, text)
  }
})

void t.test('what a definition must not be is refused with its line', async (t) => {
  const rows = [
    ['service {\n  nmae = "x"\n}', /^a\.hcl:6: service\.0\.nmae: unknown key/],
    ['service {\n  port = "80"\n}', 'a.hcl:6: service.0.port: must be a whole number, not "80"'],
    ['service "web" {\n}', 'a.hcl:5: the block service takes no label; found "web"'],
    ['check {\n  args = "true"\n}', 'a.hcl:6: check.0.args: must be a list of texts, not "true"'],
    ['service = "web"', /^a\.hcl:5: service: must be at most 4096 services, not "web"$/],
    [
      `service {\n${'  check {}\n'.repeat(SERVICE_CHECKS_MAX + 1)}}`,
      /service\.0\.check: must be at most 64 checks/,
    ],
    ['check {}\n'.repeat(DEFINITIONS_MAX + 1), /check: must be at most 4096 checks/],
  ] as const
  for (const [text, expected] of rows) {
    t.match(await refusal(t, { 'a.hcl': `${smallest}${text}` }), expected, text.slice(0, 40))
  }
})
