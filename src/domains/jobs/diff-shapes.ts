/** What differs between two versions of a job, as routes answer it. */
import { Type, type TSchema } from 'typebox'
import { count, mapOf, nullable, text } from '../../api/shape.ts'

const FieldShape = Type.Object(
  {
    Type: text('None, Added, Deleted or Edited'),
    Name: Type.String(),
    Old: Type.String(),
    New: Type.String(),
    Annotations: nullable(Type.Array(Type.String())),
  },
  { title: 'FieldDiff' },
)

/** Objects of objects are of the same shape; a schema says two levels. */
const part = (objects: TSchema) => ({
  Type: text('None, Added, Deleted or Edited'),
  Name: Type.String(),
  Fields: Type.Array(FieldShape),
  Objects: Type.Array(objects),
})
const Inner = Type.Object(part(Type.Unknown({ description: 'Further ones within' })), {
  title: 'ObjectDiff',
})
const TaskShape = Type.Object(
  { ...part(Inner), Annotations: nullable(Type.Array(Type.String())) },
  { title: 'TaskDiff' },
)
const GroupShape = Type.Object(
  { ...part(Inner), Tasks: Type.Array(TaskShape), Updates: nullable(mapOf(count(''))) },
  { title: 'TaskGroupDiff' },
)
export const DiffShape = Type.Object(
  {
    Type: text('None, Added or Edited'),
    ID: Type.String(),
    Fields: Type.Array(FieldShape),
    Objects: Type.Array(Inner),
    TaskGroups: Type.Array(GroupShape),
  },
  { title: 'JobDiff' },
)
