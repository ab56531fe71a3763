import t from 'tap'
import { descriptorsMax } from '../../src/lib/descriptors.ts'

t.test('the hard limit of open files, and no limit where none is said', async (t) => {
  const limits = (line: string) => () =>
    `Limit  Soft Limit  Hard Limit  Units\nMax processes  1  2  processes\n${line}\nMax locked memory  3  4  bytes\n`
  t.equal(
    descriptorsMax(
      limits('Max open files            1024                 4096                 files'),
    ),
    4_096,
  )
  t.equal(descriptorsMax(limits('Max open files  unlimited  unlimited  files')), Infinity)
  t.equal(
    descriptorsMax(() => ''),
    Infinity,
  )
  t.equal(
    descriptorsMax(() => {
      throw new Error('EMFILE')
    }),
    Infinity,
  )
  t.ok(descriptorsMax() > 0)
})
