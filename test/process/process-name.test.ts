import { execFileSync } from 'node:child_process'
import t from 'tap'

const source = new URL('../../src/process/process-name.ts', import.meta.url).href

t.test(
  'a process is known by the name it gave itself',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const script = `
    import { readFileSync } from 'node:fs'
    import { nameProcess } from ${JSON.stringify(source)}
    await nameProcess('muster')
    process.stdout.write(readFileSync(\`/proc/\${process.pid}/comm\`, 'utf8'))`
    const args = ['--input-type=module', '-e', script]
    t.equal(execFileSync(process.execPath, args, { encoding: 'utf8' }), 'muster\n')
  },
)
