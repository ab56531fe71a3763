/**
 * The templates of one task: rendered before it starts, and again whenever what they are made of is another. What is written is what
 * differs from the file, so a restart of the agent changes nothing by itself.
 */
import type { ChangeScript, Template } from '../../../domains/jobs/task-model.ts'
import { orAborted } from '../../../lib/async.ts'
import { timerMsMax, type Clock, type Timer } from '../../../lib/clock.ts'
import { nsPerMs } from '../../../lib/duration.ts'
import { MusterError, textOf } from '../../../lib/errors.ts'
import type { Logger } from '../../../lib/log.ts'
import type { Random } from '../../../lib/random.ts'
import type { Dependency } from '../../../lib/template/task-functions.ts'
import { parseTaskTemplate, taskTemplateLengthMax } from '../../../lib/template/task-template.ts'
import { readTaskFile, writeTaskFile } from '../task-files.ts'
import type { EventSeed } from '../task-events.ts'
import { environmentOfTask, placeOfTask, type SetupOf } from '../setup-of.ts'
import { parseEnvLines } from './env-lines.ts'
import { Quiet } from './quiet.ts'
import { rendered, type ReadyTemplate, type Rendering } from './rendering.ts'
import type { Subscription, TemplateData } from './template-data.ts'

/** A task that waits for its servers so long is told of. */
const silentMs = 5_000
const reasonsMax = 8
const modeDefault = '0644'

/** What is to be done with a task that runs, once its files are others. */
export type TemplateChange = {
  readonly restarts: boolean
  readonly signals: readonly string[]
  readonly scripts: readonly ChangeScript[]
}

const noChange: TemplateChange = { restarts: false, signals: [], scripts: [] }

export type TaskTemplatesOptions = {
  readonly setup: SetupOf
  readonly data: TemplateData
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly tell: (event: EventSeed) => void
  readonly onChange: (change: TemplateChange) => void
}

export class TaskTemplates {
  readonly #options: TaskTemplatesOptions
  readonly #subscription: Subscription
  readonly #ready = Promise.withResolvers<void>()
  readonly #quiet: Quiet<ReadyTemplate>
  #templates: readonly ReadyTemplate[] | null = null
  /** Whether a change is one of a task that runs, or ran; what is rendered once is not rendered any more. */
  #applies: boolean
  #isRendered = false
  #isClosed = false
  #isDirty = false
  #isBusy = false
  #reasons = ''
  #silence: Timer | null = null
  #splay: Timer | null = null
  #change = noChange

  /** `runs`: the task runs already, as an earlier process of the agent left it. */
  constructor(options: TaskTemplatesOptions, runs: boolean) {
    const { id, namespace, jobId, groupName } = options.setup.assigned
    const task = options.setup.task.Name
    const identity = [namespace, jobId, groupName, task]
    this.#options = options
    this.#quiet = new Quiet(options.clock, () => this.#look())
    this.#applies = runs
    this.#ready.promise.catch(() => {})
    const asker = { allocation: id, task, identity }
    this.#subscription = options.data.subscribe(asker, () => this.#look())
    this.#look()
  }

  /** Resolves once all of them are rendered. Rejects for one that cannot be read, and when the signal fires. */
  ready(signal: AbortSignal): Promise<void> {
    return orAborted(this.#ready.promise, signal, () => {
      throw new MusterError('cancelled', 'the task is not wanted any more')
    })
  }

  close(): void {
    this.#isClosed = true
    this.#subscription.close()
    this.#silence?.cancel()
    this.#splay?.cancel()
    this.#quiet.close()
    this.#ready.reject(new MusterError('cancelled', 'the task has ended'))
  }

  /** Renders once more, and again for each change that came meanwhile. */
  #look(): void {
    this.#isDirty = true
    if (this.#isBusy || this.#isClosed) return
    this.#isBusy = true
    void this.#renderAll().finally(() => {
      this.#isBusy = false
      if (this.#isDirty) this.#look()
    })
  }

  /** Never rejects. */
  async #renderAll(): Promise<void> {
    this.#isDirty = false
    try {
      this.#templates ??= await readyTemplates(this.#options.setup)
      await this.#render(this.#templates)
    } catch (error) {
      this.#options.log.warn('templates of a task cannot be rendered', {
        ...this.#names(),
        error: textOf(error),
      })
      if (this.#isRendered || this.#applies) this.#tell([textOf(error)])
      else this.#ready.reject(error)
    }
  }

  async #render(templates: readonly ReadyTemplate[]): Promise<void> {
    const { setup } = this.#options
    const { env } = environmentOfTask(setup)
    const find = (dependency: Dependency) => this.#subscription.find(dependency)
    const current = this.#applies ? templates.filter(({ spec }) => spec.Once !== true) : templates
    const renderings = current.map((one) => rendered(one, { find, env }))
    this.#subscription.need(renderings.flatMap(({ dependencies }) => dependencies))
    // Their files are made when all of them are there: programs may read several at their start.
    const isWhole = renderings.every(({ outcome }) => outcome.type === 'rendered')
    this.#explain(renderings)
    if (!isWhole && !this.#isRendered) return
    for (const [at, { outcome }] of renderings.entries()) {
      const template = current[at]
      if (template === undefined || outcome.type !== 'rendered' || this.#isClosed) continue
      const { Envvars, Wait } = template.spec
      if (Wait !== undefined && !this.#quiet.isDue(template, outcome.text, Wait)) continue
      if (Envvars) checkEnv(template, outcome.text)
      const isChanged = await writeTaskFile(template.place, outcome.text, template)
      if (Wait !== undefined) this.#quiet.wrote(template, outcome.text)
      if (isChanged && this.#applies) this.#note(template.spec)
    }
    if (!isWhole) return
    this.#isRendered = true
    this.#applies = true
    this.#ready.resolve()
  }

  /** Why it waits; nothing is told twice in a row. */
  #explain(renderings: readonly Rendering[]): void {
    const because = renderings.flatMap(({ outcome }) =>
      outcome.type === 'waits' ? outcome.because : [],
    )
    const unknown = renderings.flatMap(({ outcome }) =>
      outcome.type === 'unknown' ? outcome.what : [],
    )
    this.#silence?.cancel()
    this.#silence = null
    if (because.length > 0) this.#tell(because)
    else if (unknown.length === 0) this.#reasons = ''
    else if (!this.#isRendered) {
      this.#silence = this.#options.clock.setTimer(silentMs, () =>
        this.#tell(unknown.map((what) => `the servers have not said what is in ${what}`)),
      )
    }
  }

  #tell(because: readonly string[]): void {
    const shown = [...new Set(because)]
    const more = shown.length > reasonsMax ? `; and ${shown.length - reasonsMax} more` : ''
    const text = `Missing: ${shown.slice(0, reasonsMax).join('; ')}${more}`
    if (text === this.#reasons || this.#isClosed) return
    this.#reasons = text
    this.#options.tell({ type: 'Template', text })
  }

  /** Those that change together are one change, a while later. */
  #note(spec: Template): void {
    const { ChangeMode, Splay } = spec
    if (ChangeMode === 'noop') return
    this.#change = withChange(this.#change, spec)
    if (this.#splay !== null) return
    const { clock, random, onChange } = this.#options
    const waitMs = Math.min(timerMsMax, random.next() * Math.max(0, Splay / nsPerMs))
    this.#splay = clock.setTimer(waitMs, () => {
      const change = this.#change
      this.#splay = null
      this.#change = noChange
      onChange(change)
    })
  }

  #names(): { readonly allocation: string; readonly task: string } {
    return { allocation: this.#subscription.asker.allocation, task: this.#subscription.asker.task }
  }
}

function withChange(before: TemplateChange, spec: Template): TemplateChange {
  const { restarts, signals, scripts } = before
  const { ChangeMode, ChangeSignal, ChangeScript } = spec
  if (ChangeMode === 'restart') return { ...before, restarts: true }
  if (ChangeMode === 'signal') {
    return { restarts, scripts, signals: [...new Set([...signals, ChangeSignal])] }
  }
  const more = ChangeScript === undefined || scripts.includes(ChangeScript) ? [] : [ChangeScript]
  return { restarts, signals, scripts: [...scripts, ...more] }
}

function checkEnv({ name }: ReadyTemplate, text: string): void {
  try {
    parseEnvLines(text)
  } catch (error) {
    throw new MusterError('invalid_argument', `${name}: ${textOf(error)}`)
  }
}

/** Throws `invalid_argument` for one that cannot be read. */
async function readyTemplates(setup: SetupOf): Promise<readonly ReadyTemplate[]> {
  const ready: ReadyTemplate[] = []
  for (const spec of setup.task.Templates) ready.push(await readyTemplate(setup, spec))
  return ready
}

async function readyTemplate(setup: SetupOf, spec: Template): Promise<ReadyTemplate> {
  const name = `template of ${spec.DestPath}`
  const place = placeOfTask(setup, spec.DestPath, `${name}: DestPath`)
  const mode = Number.parseInt(spec.Perms === '' ? modeDefault : spec.Perms, 8) & 0o777
  const delims = { left: spec.LeftDelim, right: spec.RightDelim }
  let text = spec.EmbeddedTmpl
  if (text === '') {
    const source = placeOfTask(setup, spec.SourcePath, `${name}: SourcePath`)
    const found = await readTaskFile(source, taskTemplateLengthMax)
    if (found === null) {
      throw new MusterError('invalid_argument', `${name}: there is no file ${spec.SourcePath}`)
    }
    text = found
  }
  const nodes = parseTaskTemplate(text, delims, name)
  return { spec, name, place, mode, uid: spec.Uid ?? null, gid: spec.Gid ?? null, nodes }
}
