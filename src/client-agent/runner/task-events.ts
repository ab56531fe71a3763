/** What is told of a task's life: the events of its state, in the words that Nomad's tools know. */
import { Type, type Static } from 'typebox'
import { taskEventsMax, type TaskEvent } from '../../domains/allocations/model.ts'
import { formatDurationMs } from '../../lib/duration.ts'
import type { Exit } from '../drivers/driver.ts'

const textLengthMax = 1_000

export const EventSeed = Type.Object({
  type: Type.String(),
  text: Type.String(),
  details: Type.Optional(Type.Array(Type.Tuple([Type.String(), Type.String()]))),
})
export type EventSeed = Readonly<Static<typeof EventSeed>>

export function withTaskEvent(
  events: readonly TaskEvent[],
  seed: EventSeed,
  wallMs: number,
): TaskEvent[] {
  const text = cut(seed.text)
  const event: TaskEvent = {
    type: seed.type,
    timeNs: String(BigInt(Math.trunc(wallMs)) * 1_000_000n),
    message: text,
    displayMessage: text,
    details: (seed.details ?? []).map(([name, value]) => [name, cut(value)]),
  }
  return [...events, event].slice(-taskEventsMax)
}

function cut(text: string): string {
  return text.length <= textLengthMax ? text : `${text.slice(0, textLengthMax)}…`
}

export const received: EventSeed = { type: 'Received', text: 'Task received by client' }
export const setUp: EventSeed = { type: 'Task Setup', text: 'Building Task Directory' }
export const downloading: EventSeed = {
  type: 'Downloading Artifacts',
  text: 'Client is downloading artifacts',
}

export function toldByDriver(text: string): EventSeed {
  return { type: 'Driver', text }
}

export const started: EventSeed = { type: 'Started', text: 'Task started by client' }
export const reconnected: EventSeed = { type: 'Reconnected', text: 'Client reconnected' }
export const killed: EventSeed = { type: 'Killed', text: 'Task successfully killed' }
export const leaderDead: EventSeed = {
  type: 'Leader Task Dead',
  text: 'Leader Task in Group dead',
}
export const mainTasksDead: EventSeed = {
  type: 'Main Tasks Dead',
  text: 'Main tasks in the group died',
}

export const contactLost: EventSeed = {
  type: 'Killing',
  text: 'No server answered for as long as stop_after_client_disconnect allows',
}

export function siblingFailed(name: string): EventSeed {
  return {
    type: 'Sibling Task Failed',
    text: `Task's sibling "${name}" failed`,
    details: [['failed_sibling', name]],
  }
}

export function terminated(exit: Exit): EventSeed {
  if (exit.type === 'unknown') {
    return {
      type: 'Terminated',
      text: `Exit code unknown: ${exit.reason}`,
      details: [['exit_message', exit.reason]],
    }
  }
  const { code, signal, message, oomKilled = false } = exit
  const parts = [`Exit Code: ${code}`]
  const details: [string, string][] = [
    ['exit_code', String(code)],
    ['signal', String(signal)],
    ['oom_killed', String(oomKilled)],
  ]
  if (signal !== 0) parts.push(`Signal: ${signal}`)
  if (message !== '') {
    parts.push(`Exit Message: ${JSON.stringify(message)}`)
    details.push(['exit_message', message])
  }
  return { type: 'Terminated', text: parts.join(', '), details }
}

export function restarting(reason: string, delayMs: number): EventSeed {
  const delay = formatDurationMs(delayMs)
  const within = `Task restarting in ${delay}`
  return {
    type: 'Restarting',
    text: reason === '' ? within : `${reason} - ${within}`,
    details: [
      ['restart_reason', reason === '' ? 'Restart within policy' : reason],
      ['start_delay', String(Math.round(delayMs * 1e6))],
    ],
  }
}

export function notRestarting(reason: string): EventSeed {
  return { type: 'Not Restarting', text: reason, details: [['fails_task', 'true']] }
}

export const restartAsked: EventSeed = {
  type: 'Restart Signaled',
  text: 'User requested task to restart',
}

export const restartOfAllAsked: EventSeed = {
  type: 'Restart Signaled',
  text: 'User requested all tasks to restart',
}

export const templateRestart: EventSeed = {
  type: 'Restart Signaled',
  text: 'Template with change_mode restart re-rendered',
}

export function checkUnhealthy(check: string): EventSeed {
  const reason = `healthcheck: check ${JSON.stringify(check)} unhealthy`
  return { type: 'Restart Signaled', text: reason, details: [['restart_reason', reason]] }
}

export function serviceRefused(service: string, problem: string): EventSeed {
  const text = `Service ${JSON.stringify(service)} is not registered: ${problem}`
  return { type: 'Task hook failed', text }
}

export function templateSignal(signal: string): EventSeed {
  return {
    type: 'Signaling',
    text: `Template re-rendered: task being sent signal ${signal}`,
    details: [
      ['task_signal', signal],
      ['task_signal_reason', 'Template re-rendered'],
    ],
  }
}

export function scriptRan(words: string): EventSeed {
  return { type: 'Task hook message', text: `Template re-rendered: ran ${words}` }
}

export function scriptFailed(words: string, problem: string): EventSeed {
  return { type: 'Task hook failed', text: `Template re-rendered: ${words} failed: ${problem}` }
}

export const failedByScript: EventSeed = {
  type: 'Killing',
  text: 'The script of a template failed, and has fail_on_error',
}

export function signaling(signal: string): EventSeed {
  return {
    type: 'Signaling',
    text: `Task being sent signal ${signal}`,
    details: [['task_signal', signal]],
  }
}

export function killing(timeoutMs: number): EventSeed {
  return {
    type: 'Killing',
    text: `Sent interrupt. Waiting ${formatDurationMs(timeoutMs)} before force killing`,
    details: [['kill_timeout', formatDurationMs(timeoutMs)]],
  }
}

export function shutdownDelay(delayMs: number): EventSeed {
  return {
    type: 'Waiting for shutdown delay',
    text: `Waiting for shutdown_delay of ${formatDurationMs(delayMs)} before killing the task.`,
  }
}
