/** What this server's own disk means for its role: a server that cannot store neither leads nor helps to elect. */
import { abdicate } from './handover.ts'
import { becomeFollower, type State } from './state.ts'

/** The disk began to refuse what it is asked to write, which waits; or it took all of it. */
export function diskRefuses(state: State, refuses: boolean): void {
  state.diskRefuses = refuses
  if (!refuses) return
  const { role } = state
  if (role.type === 'leader') abdicate(state, role)
  else if (role.type !== 'follower') becomeFollower(state, state.term, null)
}
