/**
 * Log lines of a process, to its output and to its followers. Those for the output are gathered and written
 * together once per turn of the event loop; `flush` writes at once, before an exit.
 */
import {
  logLevels,
  type LogFields,
  type Logger,
  type LogLevel,
  type LogLine,
  type LogTap,
} from '../lib/log.ts'
import { jsonLine, textLine } from '../lib/log-line.ts'
import { journalMarks } from './journal.ts'

/** Gathered text is written when it is this long, also within a turn. */
const GATHERED_LENGTH_MAX = 64 * 1024

export type LogSink = {
  /** Takes whole lines, newline included. */
  write(text: string): void
}

/** What is written to the output, and how. */
export type LogForm = {
  readonly level: LogLevel
  readonly json: boolean
}

export type LogOptions = LogForm & {
  readonly name: string
  readonly sink: LogSink
  /** It is systemd's journal, and each line begins with its level. */
  readonly toJournal?: boolean
  readonly wallMs: () => number
  /** Calls back soon, in this turn of the event loop or the next. */
  readonly soon: (run: () => void) => void
}

export type ProcessLog = {
  readonly logger: Logger
  readonly tap: LogTap
  /** From the next line on, of all loggers; followers keep their own. */
  configure(form: LogForm): void
  /** Writes what is gathered. */
  flush(): void
}

type Follower = { readonly rank: number; readonly take: (line: LogLine) => void }

export function createLog(options: LogOptions): ProcessLog {
  const { toJournal = false } = options
  let format = textLine
  let own = 0
  const followers = new Set<Follower>()
  /** Below it there is no reader, and a line costs one comparison. */
  let lowest = own
  const measure = (): void => {
    lowest = Math.min(own, ...[...followers].map(({ rank }) => rank))
  }
  const configure = ({ level, json }: LogForm): void => {
    format = json ? jsonLine : textLine
    own = logLevels.indexOf(level)
    measure()
  }
  configure(options)
  let gathered = ''
  let scheduled = false

  const flush = (): void => {
    if (gathered === '') return
    const text = gathered
    gathered = ''
    options.sink.write(text)
  }

  const write = (line: LogLine): void => {
    gathered += `${toJournal ? journalMarks[line.level] : ''}${format(line)}\n`
    if (gathered.length > GATHERED_LENGTH_MAX) return flush()
    if (scheduled) return
    scheduled = true
    options.soon(() => {
      scheduled = false
      flush()
    })
  }

  const named = (name: string): Logger => {
    const at = (level: LogLevel) => {
      const rank = logLevels.indexOf(level)
      return (message: string, fields: LogFields = {}): void => {
        if (rank < lowest) return
        const timestamp = new Date(options.wallMs()).toISOString()
        const line: LogLine = { timestamp, level, name, message, fields }
        if (rank >= own) write(line)
        for (const follower of followers) if (rank >= follower.rank) follower.take(line)
      }
    }
    return {
      trace: at('trace'),
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      named: (part) => named(`${name}.${part}`),
      listens: (level) => logLevels.indexOf(level) >= lowest,
    }
  }

  const tap: LogTap = {
    follow(level, take) {
      const follower: Follower = { rank: logLevels.indexOf(level), take }
      followers.add(follower)
      measure()
      return () => {
        followers.delete(follower)
        measure()
      }
    },
  }

  return { logger: named(options.name), tap, configure, flush }
}
