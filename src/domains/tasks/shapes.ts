/** What routes of tasks' files answer. */
import { Type } from 'typebox'
import { count, text } from '../../api/shape.ts'

/** A part of a file, or `{}` as a heartbeat. */
export const FileFrame = Type.Object({
  File: Type.Optional(text('Name of the file')),
  Offset: Type.Optional(count('Where in the file the data begins')),
  Data: Type.Optional(text('Base64')),
})
