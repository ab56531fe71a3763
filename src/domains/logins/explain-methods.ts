/** What an explanation of any login asks of its caller: to read tokens and policies. The login method asks for `login:explain` too. */
import { Type } from 'typebox'
import { defineLocalMethod } from '../../rpc/method.ts'

/** Asked first, so that a caller without the right does not even learn which mounts there are. */
export const mayExplainLogin = defineLocalMethod({
  kind: 'local',
  name: 'logins.mayExplain',
  args: Type.Object({}),
  requires: () => ({ resource: 'acl', access: 'read' }),
  run: async () => null,
})
