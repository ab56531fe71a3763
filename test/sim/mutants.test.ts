/** The planted bugs fit the source they change, and a planted bug is caught. All of them: `npm run sim -- --mutants`. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { mutants } from './mutants.ts'
import { plant, tryMutant } from './mutation.ts'

void t.test('every mutant changes exactly one place of the source as it is now', async (t) => {
  const names = new Set(mutants.map(({ name }) => name))
  t.equal(names.size, mutants.length, 'no two have the same name')
  for (const mutant of mutants) {
    const source = await readFile(new URL(`../../${mutant.file}`, import.meta.url), 'utf8')
    const planted = plant(source, mutant)
    t.ok(planted !== null, `${mutant.name}: its text occurs once in ${mutant.file}`)
    t.not(planted, source, `${mutant.name}: the replacement differs`)
  }
})

void t.test('a planted bug is caught', async (t) => {
  const mutant = mutants.find(({ name }) => name.startsWith('entries are acknowledged before'))
  if (mutant === undefined) throw new Error('the mutant this test speaks of is gone')
  const verdict = await tryMutant(mutant, { first: 1, last: 20 })
  t.ok(verdict.caught, verdict.text)
  t.match(verdict.text, 'entries are on disk before they are acknowledged')
})

void t.test('a lease that lasts too long is caught', async (t) => {
  const mutant = mutants.find(({ name }) => name.startsWith('a leader counts on its own timeout'))
  if (mutant === undefined) throw new Error('the mutant this test speaks of is gone')
  const verdict = await tryMutant(mutant, { first: 1, last: 24 })
  t.ok(verdict.caught, verdict.text)
})
