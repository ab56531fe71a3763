import t from 'tap'
import { dateText } from '../../src/lib/date-text.ts'

void t.test('a moment is shown in four digits of a year', async (t) => {
  t.equal(dateText(0), '1970-01-01T00:00:00.000Z')
  t.equal(dateText(Date.UTC(9999, 11, 31, 23, 59, 59, 999)), '9999-12-31T23:59:59.999Z')
  t.equal(dateText(8_640_000_000_000_000), '9999-12-31T23:59:59.999Z')
})
