/** `/v1/client/allocation/:id/exec`: a command beside a task, over a WebSocket. */
import type { ApiRequest, Conversation, DescribedRoute, PlaceOptions } from '../../api/route.ts'
import { consistency, flag, optionally, text } from '../../api/shape.ts'
import { Failure } from '../../lib/async.ts'
import { codeOf, MusterError } from '../../lib/errors.ts'
import { allocationOf, exampleId, named, placeOf } from './agent-routes.ts'
import { framesOfOutput, toldBy } from './exec-frames.ts'
import { hearHandshake } from './exec-handshake.ts'
import { execMethods } from './exec-methods.ts'
import type { CommandOutput } from './services.ts'

export const execPath = '/v1/client/allocation/:alloc_id/exec'

export const execRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: execPath,
    summary: 'Run a command beside a task, over a WebSocket',
    permission: 'namespace:alloc-exec',
    params: named,
    query: {
      task: text('The task'),
      command: text('The program and its arguments, as a JSON array of texts'),
      ...optionally({
        tty: flag('It has a terminal'),
        ws_handshake: flag(
          'The first message is `{"version":1,"auth_token":"…"}`, for browsers, which send no headers',
        ),
      }),
      ...consistency,
    },
    reply: { 101: {} },
    errors: ['not_found', 'conflict'],
    example: {
      url: `/v1/client/allocation/${exampleId}/exec?task=web&command=%5B%22%2Fbin%2Fdate%22%5D`,
      shownOnly: 'no allocation has this ID',
    },
    websocket: true,
    handle: async (request) => {
      if (!request.asksForWebSocket) {
        await placeOf(request, 'alloc-exec')
        throw new MusterError('invalid_argument', 'a command runs over a WebSocket: ask for one')
      }
      if (!request.search.boolean('ws_handshake')) return { converse: await begun(request) }
      return {
        converse: async function* afterHandshake(messages) {
          if (!(await hearHandshake(request, messages))) return
          const converse = await begun(request)
          yield* converse(messages)
        },
      }
    },
  },
]

async function begun(request: ApiRequest): Promise<Conversation> {
  const { search } = request
  const place = await placeOf(request, 'alloc-exec')
  const args = {
    allocation: allocationOf(request),
    task: search.text('task') ?? '',
    command: commandOf(search.text('command') ?? ''),
    tty: search.boolean('tty'),
  }
  return conversation(request, await request.open(execMethods.exec, args, place), place)
}

function commandOf(json: string): string[] {
  const strange = new MusterError(
    'invalid_argument',
    'command must be a JSON array of texts, the program first, as ["/bin/date","-u"]',
  )
  let words: unknown
  try {
    words = JSON.parse(json)
  } catch {
    throw strange
  }
  if (!Array.isArray(words) || words.length === 0) throw strange
  return words.map((word: unknown) => {
    if (typeof word === 'string' && !word.includes('\0')) return word
    throw strange
  })
}

function conversation(
  request: ApiRequest,
  outputs: AsyncIterableIterator<CommandOutput>,
  place: PlaceOptions,
): Conversation {
  const allocation = allocationOf(request)
  return async function* said(messages) {
    let hasEnded = false
    const failure = new Failure()
    try {
      for (;;) {
        const { value, done } = await failure.until(outputs.next())
        if (done === true) break
        if (value.type === 'session') {
          const { session } = value
          tell(request, messages, { allocation, session }, place).catch(failure.fail)
        }
        hasEnded = value.type === 'exited'
        yield* framesOfOutput(value)
      }
    } finally {
      await outputs.return?.()
    }
    if (!hasEnded) {
      throw new MusterError('unavailable', 'the command was ended, or its node is not reached')
    }
  }
}

/** One after the other. Resolves when the client says nothing more, or the command has ended. */
async function tell(
  request: ApiRequest,
  messages: AsyncIterable<string>,
  whom: { readonly allocation: string; readonly session: string },
  place: PlaceOptions,
): Promise<void> {
  for await (const message of messages) {
    for (const told of toldBy(message)) {
      try {
        while (!(await request.call(execMethods.input, { ...whom, ...told }, place)));
      } catch (error) {
        if (codeOf(error) === 'not_found') return
        throw error
      }
    }
  }
}
