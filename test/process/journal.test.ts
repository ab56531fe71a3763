import { closeSync, fstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { markLines, writesToJournal } from '../../src/process/journal.ts'

t.test('a descriptor goes to the journal if systemd named its device and inode', async (t) => {
  const folder = t.testdir({ stream: '', other: '' })
  const open = (name: string): number => {
    const descriptor = openSync(join(folder, name), 'r')
    t.teardown(() => closeSync(descriptor))
    return descriptor
  }
  const stream = open('stream')
  const { dev, ino } = fstatSync(stream)
  const env = { JOURNAL_STREAM: `${dev}:${ino}` }
  t.ok(writesToJournal(env, stream))
  t.notOk(writesToJournal(env, open('other')), 'a redirection goes elsewhere')
  t.notOk(writesToJournal({}, stream))
  t.notOk(writesToJournal(env, 99_999), 'a descriptor that is closed')
})

t.test('each line of a failure has its level', async (t) => {
  t.equal(markLines('a\nb\n'), '<3>a\n<3>b\n')
  const one = 'a\u2028b\u2029c\rd'
  t.equal(markLines(one), `<3>${one}`, 'what else separates lines does not in the journal')
})
