/** The container file, as far as it can be judged without an engine: no test builds the image. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { NODE_MAJOR_MIN } from '../../../scripts/install.mjs'
import { root } from '../../../scripts/release/project.ts'

type Instruction = { readonly word: string; readonly text: string }

/** Each stage from its FROM on. Continued lines are one. */
function stagesOf(file: string): readonly (readonly Instruction[])[] {
  const stages: Instruction[][] = []
  for (const line of file.replaceAll('\\\n', '').split('\n')) {
    const [, word, text] = /^([A-Z]+) +(.*)$/.exec(line) ?? []
    if (word === undefined || text === undefined) continue
    if (word === 'FROM') stages.push([])
    stages.at(-1)?.push({ word, text })
  }
  return stages
}

const file = readFileSync(join(root, 'scripts/release/forms/Containerfile'), 'utf8')

t.test('one stage builds the executable, the other runs it as a user', async (t) => {
  const [build = [], image = [], ...more] = stagesOf(file)
  t.same(more, [], 'two stages')
  const all = (stage: readonly Instruction[], word: string) =>
    stage.filter((instruction) => instruction.word === word).map(({ text }) => text)
  const [, major] = /^node:(\d+)-bookworm-slim AS build$/.exec(all(build, 'FROM').join()) ?? []
  t.ok(Number(major) >= NODE_MAJOR_MIN, 'its Node.js can install the project')
  t.match(all(build, 'RUN').join('\n'), /npm run release -- --form executable /)
  t.same(all(image, 'FROM'), ['debian:bookworm-slim'], 'without the tools of the build')
  const copied = all(image, 'COPY')
  t.ok(copied.length > 0)
  for (const text of copied) t.match(text, /^--from=build \S+ \/usr\//)
  t.ok(
    copied.includes('--from=build /classic-level.node /usr/lib/muster/classic-level.node'),
    'beside the executable, for a root that is read-only',
  )
  t.match(
    all(image, 'RUN').join('\n'),
    / -g root -m 0770 \/var\/lib\/muster .* -o root -g root -m 0755 \/etc\/muster\.d/,
    'a user that the platform makes up, with the group root, gets in; none changes the configuration',
  )
  t.same(all(image, 'USER'), ['muster'])
  t.match(all(image, 'RUN').join('\n'), / useradd --system .* muster\b/)
  const after = image.slice(image.findIndex(({ word }) => word === 'USER'))
  t.same(all(after, 'RUN'), [], 'nothing is done as root afterwards')
  t.match(all(image, 'HEALTHCHECK'), [/ CMD \["\/usr\/bin\/muster", "status"\]$/])
  t.same(all(image, 'ENTRYPOINT'), ['["/usr/bin/muster"]'])
  t.same(all(image, 'CMD'), ['["agent", "-config", "/etc/muster.d"]'])
  t.same(all(image, 'VOLUME'), ['/var/lib/muster'])
  t.same(all(image, 'STOPSIGNAL'), ['SIGTERM'], 'a stop is orderly')
})
