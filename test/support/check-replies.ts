/** Replies to the clients of a test, looked at for what their routes do not describe. */
import type { Test } from 'tap'
import { replyCheck } from './http-client.ts'

/** Tests under way that check: several test files may share a process. */
let tests = 0

/** Every reply to an `HttpClient`, until the test ends. The routes are loaded here: programs that measure clusters do without them. */
export async function checkReplies(t: Test): Promise<void> {
  const { everyReply } = await import('./every-reply.ts')
  tests += 1
  replyCheck.faultOf = (request, reply) => everyReply.faultOf(request, reply)
  t.teardown(() => {
    tests -= 1
    if (tests === 0) replyCheck.faultOf = null
  })
}
