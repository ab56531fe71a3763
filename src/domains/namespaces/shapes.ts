/** What routes of namespaces take and answer. */
import { Type } from 'typebox'
import { indexes, Texts, text } from '../../api/shape.ts'
import { Description, NamespaceName } from './model.ts'

export const Namespace = Type.Object(
  { Name: NamespaceName, Description, Meta: Texts, ...indexes },
  { title: 'Namespace' },
)

export const NamespaceBody = Type.Object({
  Name: Type.Optional(text('As in the path, where that names it')),
  Description: Type.Optional(Description),
  Meta: Type.Optional(Texts),
})
