/** Who may have a login explained: whoever may read tokens and policies. The login method asks for more. */
import { Type } from 'typebox'
import { defineLocalMethod } from '../../rpc/method.ts'

/** Asked first, so that whoever may not ask does not even learn which mounts there are. */
export const mayExplainLogin = defineLocalMethod({
  kind: 'local',
  name: 'logins.mayExplain',
  args: Type.Object({}),
  requires: () => ({ resource: 'acl', access: 'read' }),
  run: async () => null,
})
