import { existsSync } from 'node:fs'
import t from 'tap'
import { writtenFolder } from './written-folder.ts'

let folder = ''
let wasThere = false

void t.test('a test that asks for the folder first', async (t) => {
  folder = writtenFolder(t)
  t.teardown(() => (wasThere = existsSync(folder)))
  t.ok(existsSync(folder))
})

void t.test('has it in its teardowns, and not after them', async (t) => {
  t.ok(wasThere)
  t.notOk(existsSync(folder))
})
