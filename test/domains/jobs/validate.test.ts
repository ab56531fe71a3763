/** Everything that is wrong with a job is said at once, with the path of the member and what would be right. */
import t from 'tap'
import { readJob } from '../../../src/domains/jobs/draft-model.ts'
import { jobTypes } from '../../../src/domains/evaluations/job-type-model.ts'
import { problemsMax } from '../../../src/domains/jobs/problem-model.ts'
import { warningsOf } from '../../../src/domains/jobs/validate-model.ts'
import { completed, jobWith, problemsOf, type Json } from './job-drafts.ts'

const second = 1e9

t.test('the least job of every type is in order', async (t) => {
  for (const Type of jobTypes) t.same(problemsOf(jobWith({ Type })), [], Type)
})

const g = 'TaskGroups[0]'
const k = `${g}.Tasks[0]`
const constraint = (Operand: string, RTarget: string, LTarget = '${attr.x}') => ({
  Constraints: [{ LTarget, RTarget, Operand }],
})
const http = { Type: 'http', Path: '/', Interval: second, Timeout: second, PortLabel: '80' }
const check = (more: Json) => ({ Services: [{ Name: 's', Checks: [{ ...http, ...more }] }] })
const ports = (...DynamicPorts: readonly Json[]) => ({ Networks: [{ DynamicPorts }] })
const manyPorts = (count: number) => Array.from({ length: count }, (_, at) => ({ Label: `p${at}` }))
const tagged = (...Tags: readonly string[]) => ({ Services: [{ Name: 's', Tags }] })
const described = (pairs: readonly (readonly string[])[]) => ({
  Services: [{ Name: 's', Meta: Object.fromEntries(pairs) }],
})
const template = (more: Json) => ({
  Templates: [{ EmbeddedTmpl: 'x', DestPath: 'local/x', ...more }],
})

/** What, the job, its group, its task, and how the problem begins; null: there is none. */
type Case = readonly [string, Json, Json, Json, string | null]

// oxfmt-ignore
const cases: readonly Case[] = [
  ['no id', { ID: '' }, {}, {}, 'ID is missing'],
  ['a blank in the id', { ID: 'a b' }, {}, {}, 'ID must have no blank'],
  ['NUL in the id', { ID: 'a\0b', Name: 'x' }, {}, {}, 'ID must have no blank and no NUL'],
  ['NUL in the name', { Name: 'a\0b' }, {}, {}, 'Name must have no NUL'],
  ['a long id', { ID: 'x'.repeat(300) }, {}, {}, 'ID must have at most 256'],
  ['a bad namespace', { Namespace: 'a/b' }, {}, {}, 'Namespace is none'],
  ['no datacenter', { Datacenters: [] }, {}, {}, 'Datacenters is empty'],
  ['an empty datacenter', { Datacenters: [''] }, {}, {}, 'Datacenters[0] is empty'],
  ['an unknown type', { Type: 'cron' }, {}, {}, 'Type must be one of service, batch'],
  ['the core type', { Type: '_core' }, {}, {}, 'Type must be one of'],
  ['a name of Object.prototype as type', { Type: 'toString' }, {}, {}, 'Type must be one of'],
  ['priority 0', { Priority: 0 }, {}, {}, 'Priority must be from 1 to 100'],
  ['priority 101', { Priority: 101 }, {}, {}, 'Priority must be from 1 to 100'],
  ['no groups', { TaskGroups: [] }, {}, {}, 'TaskGroups is empty'],
  ['no tasks', {}, { Tasks: [] }, {}, `${g}.Tasks is empty`],
  ['a group without a name', {}, { Name: '' }, {}, `${g}.Name is missing`],
  ['a task without a name', {}, {}, { Name: '' }, `${k}.Name is missing`],
  ['a slash in a task name', {}, {}, { Name: 'a/b' }, `${k}.Name must have no slash`],
  ['a group name that no row takes', {}, { Name: 'g'.repeat(257) }, {}, `${g}.Name must have at most 256 letters`],
  ['a long group name', {}, { Name: 'g'.repeat(256) }, {}, null],
  ['a task name that no file has', {}, {}, { Name: 'ä'.repeat(101) }, `${k}.Name must take at most 200 bytes`],
  ['a long task name', {}, {}, { Name: 'ä'.repeat(100) }, null],
  ...['.', '..', 'alloc', '.run'].map((Name): Case => [`a task of the name ${Name}`, {}, {}, { Name }, `${k}.Name "${Name}" is the name of another folder`]),
  ['an unknown signal', {}, {}, { KillSignal: 'SIGFOO' }, `${k}.KillSignal "SIGFOO" is no signal: name one`],
  ['a signal', {}, {}, { KillSignal: 'usr1' }, null],
  ['no driver', {}, {}, { Driver: '' }, `${k}.Driver is missing`],
  ['a negative count', {}, { Count: -1 }, {}, `${g}.Count must not be negative`],
  ['count 0', {}, { Count: 0 }, {}, null],
  ['a system job twice', { Type: 'system' }, { Count: 2 }, {}, `${g}.Count must be 0 or 1`],
  ['rescheduling of a system job', { Type: 'system' }, { ReschedulePolicy: {} }, {}, `${g}.ReschedulePolicy has no meaning`],
  ['rescheduling of a sysbatch job', { Type: 'sysbatch', Reschedule: {} }, {}, {}, 'Reschedule has no meaning'],
  ['moving of a batch job', { Type: 'batch', Migrate: {} }, {}, {}, 'Migrate has no meaning in a job of the type batch'],
  ['moving of a batch group', { Type: 'batch' }, { Migrate: {} }, {}, `${g}.Migrate has no meaning`],
  ['updates of a batch job', { Type: 'batch', Update: {} }, {}, {}, 'Update has no meaning'],
  ['updates of a batch group', { Type: 'batch' }, { Update: {} }, {}, `${g}.Update has no meaning`],
  ['affinities of a system job', { Type: 'system', Affinities: [{}] }, {}, {}, 'Affinities has no meaning in a system job'],
  ['spreads of a system group', { Type: 'system' }, { Spreads: [{}] }, {}, `${g}.Spreads has no meaning`],
  ['affinities of a system task', { Type: 'system' }, {}, { Affinities: [{}] }, `${k}.Affinities has no meaning`],
  ['an unknown operand', constraint('~', 'x'), {}, {}, 'Constraints[0].Operand must be one of'],
  ['no operand', constraint('', 'x'), {}, {}, 'Constraints[0].Operand must be one of'],
  ['no attribute', constraint('=', 'x', ''), {}, {}, 'Constraints[0].LTarget is missing'],
  ['no value', {}, constraint('=', ''), {}, `${g}.Constraints[0].RTarget is missing`],
  ['a bad pattern', {}, {}, constraint('regexp', '('), `${k}.Constraints[0].RTarget is no regular expression`],
  ['a pattern', constraint('regexp', '^a+$'), {}, {}, null],
  ['a bad version', constraint('version', '>> 1'), {}, {}, 'Constraints[0].RTarget must be conditions'],
  ['versions', constraint('version', '>= 1.2, < 2.0.0-beta'), {}, {}, null],
  ['a version of its neighbourhood', constraint('version', '~> 1.2'), {}, {}, null],
  ['which semver does not have', constraint('semver', '~> 1.2'), {}, {}, 'Constraints[0].RTarget must be'],
  ['a set without one', constraint('set_contains_any', ''), {}, {}, 'Constraints[0].RTarget is missing'],
  ['a value of is_set', constraint('is_set', 'x'), {}, {}, 'Constraints[0].RTarget has no meaning'],
  ['is_set', constraint('is_set', ''), {}, {}, null],
  ['distinct hosts', constraint('distinct_hosts', 'true', ''), {}, {}, null],
  ['a distinct property of none', constraint('distinct_property', '0'), {}, {}, 'Constraints[0].RTarget must be how many'],
  ['distinct hosts of a task', {}, {}, constraint('distinct_hosts', '', ''), `${k}.Constraints[0].Operand distinct_hosts belongs to`],
  ['an affinity of weight 0', { Affinities: [{ LTarget: 'a', RTarget: 'b', Weight: 0 }] }, {}, {}, 'Affinities[0].Weight must be from -100'],
  ['an affinity of distinct hosts', { Affinities: [{ LTarget: 'a', RTarget: 'b', Operand: 'distinct_hosts' }] }, {}, {}, 'Affinities[0].Operand must be'],
  ['a spread over nothing', { Spreads: [{}] }, {}, {}, 'Spreads[0].Attribute is missing'],
  ['a spread of 110 %', { Spreads: [{ Attribute: 'a', SpreadTarget: [{ Value: 'a', Percent: 50 }, { Value: 'b', Percent: 60 }] }] }, {}, {}, 'Spreads[0].SpreadTarget has 110 percent'],
  ['a spread target twice', { Spreads: [{ Attribute: 'a', SpreadTarget: [{ Value: 'a' }, { Value: 'a' }] }] }, {}, {}, 'Spreads[0].SpreadTarget[1].Value "a" is there already'],
  ['little memory', {}, {}, { Resources: { MemoryMB: 9 } }, `${k}.Resources.MemoryMB must be at least 10`],
  ['no CPU', {}, {}, { Resources: { CPU: 0 } }, `${k}.Resources.CPU must be at least 1`],
  ['logs above the disk', {}, { EphemeralDisk: { SizeMB: 99 } }, {}, `${k}.LogConfig takes up to 100 MB, more than`],
  ['no log files', {}, {}, { LogConfig: { MaxFiles: 0 } }, `${k}.LogConfig.MaxFiles must be at least 1`],
  ['a small disk', {}, { EphemeralDisk: { SizeMB: 9 } }, { LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 } }, `${g}.EphemeralDisk.SizeMB must be at least 10`],
  ['an unknown restart mode', {}, { RestartPolicy: { Mode: 'x' } }, {}, `${g}.RestartPolicy.Mode must be one of fail, delay`],
  ['delayed restarts without attempts', {}, {}, { RestartPolicy: { Mode: 'delay', Attempts: 0 } }, `${k}.RestartPolicy.Attempts is 0`],
  ['many restarts in a short time', {}, { RestartPolicy: { Attempts: 10, Interval: 10 * second } }, {}, `${g}.RestartPolicy.Interval is too short for 10`],
  ['a short delay', {}, { ReschedulePolicy: { Delay: second } }, {}, `${g}.ReschedulePolicy.Delay must be at least 5s`],
  ['an unknown delay function', { Reschedule: { DelayFunction: 'x' } }, {}, {}, 'Reschedule.DelayFunction must be one of'],
  ['unlimited and limited', {}, { ReschedulePolicy: { Attempts: 1 } }, {}, `${g}.ReschedulePolicy.Attempts must be 0 where`],
  ['attempts that do not fit', { Type: 'batch', Reschedule: { Attempts: 10, Interval: 20 * second } }, {}, {}, 'Reschedule.Interval is too short for 10 attempts: their delays come to 50s'],
  ['growing attempts that fit', { Reschedule: { Attempts: 3, Unlimited: false, DelayFunction: 'exponential', Delay: 5 * second, MaxDelay: 60 * second, Interval: 35 * second } }, {}, {}, null],
  ['growing attempts that do not', { Reschedule: { Attempts: 4, Unlimited: false, DelayFunction: 'fibonacci', Delay: 5 * second, MaxDelay: 60 * second, Interval: 34 * second } }, {}, {}, 'Reschedule.Interval is too short for 4 attempts: their delays come to 35s'],
  ['more attempts than are counted', { Type: 'batch' }, { ReschedulePolicy: { Attempts: 33 } }, {}, `${g}.ReschedulePolicy.Attempts must be at most 32: an allocation knows`],
  ['as many attempts as are counted', { Type: 'batch', Reschedule: { Attempts: 32 } }, {}, {}, null],
  ['two billion attempts', { Reschedule: { Attempts: 2_000_000_000, Unlimited: false, DelayFunction: 'exponential', MaxDelay: 60 * second, Delay: 5 * second, Interval: 60 * second } }, {}, {}, 'Reschedule.Interval is too short'],
  ['an unknown health check', { Update: { HealthCheck: 'x' } }, {}, {}, 'Update.HealthCheck must be one of'],
  ['promotion without canaries', { Update: { AutoPromote: true } }, {}, {}, 'Update.AutoPromote needs a Canary'],
  ['many canaries', { Update: { Canary: 200 } }, {}, {}, null],
  ['canaries of all nodes', { Type: 'system', Update: { Canary: 100, AutoRevert: true, AutoPromote: true } }, {}, {}, null],
  ['canaries of more than all nodes', { Type: 'system' }, { Update: { Canary: 101 } }, {}, `${g}.Update.Canary must be at most 100: of a system job`],
  ['updates of a batch job', { Type: 'batch' }, { Update: { Canary: 1 } }, {}, `${g}.Update has no meaning`],
  ['updates of a sysbatch job', { Type: 'sysbatch', Update: { AutoRevert: true } }, {}, {}, 'Update has no meaning'],
  ['healthy later than allowed', {}, { Update: { MinHealthyTime: 600 * second } }, {}, `${g}.Update.MinHealthyTime must be less than HealthyDeadline, 5m0s`],
  ['progress before health', { Update: { ProgressDeadline: 60 * second } }, {}, {}, 'Update.HealthyDeadline must be less than ProgressDeadline, 1m0s'],
  ['manual health of moves', { Migrate: { HealthCheck: 'manual' } }, {}, {}, 'Migrate.HealthCheck must be one of checks, task_states'],
  ['a count of very many', {}, { Count: 50_001 }, {}, 'TaskGroups have a Count of 50001 together: at most 50000'],
  ['a count of many', {}, { Count: 50_000 }, {}, null],
  ['bounds of a count', {}, { Count: 2, Scaling: { Max: 2 } }, {}, null],
  ['bounds above 1, without a count', {}, { Scaling: { Min: 2, Max: 5 } }, {}, null],
  ['bounds without a maximum', {}, { Scaling: { Min: 0 } }, {}, `${g}.Scaling.Max is missing`],
  ['bounds below 0', {}, { Scaling: { Min: -1, Max: 2 } }, {}, `${g}.Scaling.Min must be at least 0`],
  ['bounds the wrong way round', {}, { Scaling: { Min: 3, Max: 2 } }, {}, `${g}.Scaling.Max must be at least Min, which is 3`],
  ['a count above its bounds', {}, { Count: 3, Scaling: { Min: 1, Max: 2 } }, {}, `${g}.Count must be from 1 to 2, as Scaling says, not 3`],
  ['a count below its bounds', {}, { Count: 0, Scaling: { Min: 1, Max: 2 } }, {}, `${g}.Count must be from 1 to 2`],
  ['another kind of scaling', {}, { Scaling: { Type: 'vertical_cpu', Max: 2 } }, {}, `${g}.Scaling.Type must be horizontal`],
  ['bounds of a system job', { Type: 'system' }, { Scaling: { Max: 2 } }, {}, `${g}.Scaling has no meaning in a job of the type system`],
  ['a schedule of a service', { Periodic: { Spec: '@daily' } }, {}, {}, 'Periodic is for jobs of the types batch'],
  ['a schedule', { Type: 'batch', Periodic: { Spec: '*/15 0-6 1,15 jan-mar MON', TimeZone: 'Europe/Berlin' } }, {}, {}, null],
  ['no schedule', { Type: 'batch', Periodic: {} }, {}, {}, 'Periodic.Spec is missing'],
  ['a bad schedule', { Type: 'batch', Periodic: { Spec: '61 * * * *' } }, {}, {}, 'Periodic.Spec has no minute "61": they go from 0 to 59'],
  ['half a schedule', { Type: 'batch', Periodic: { Spec: '* *' } }, {}, {}, 'Periodic.Spec must have five fields'],
  ['an unknown name of one', { Type: 'batch', Periodic: { Spec: '@never' } }, {}, {}, 'Periodic.Spec is none of @yearly'],
  ['an unknown time zone', { Type: 'batch', Periodic: { Spec: '@daily', TimeZone: 'Nowhere' } }, {}, {}, 'Periodic.TimeZone is no known'],
  ['a schedule that is off', { Type: 'batch', Periodic: { Enabled: false, Spec: 'x' } }, {}, {}, null],
  ['parameters of a service', { ParameterizedJob: {} }, {}, {}, 'ParameterizedJob is for jobs'],
  ['an unknown payload', { Type: 'batch', ParameterizedJob: { Payload: 'x' } }, {}, {}, 'ParameterizedJob.Payload must be one of'],
  ['a key required and optional', { Type: 'batch', ParameterizedJob: { MetaRequired: ['a'], MetaOptional: ['a'] } }, {}, {}, 'ParameterizedJob.MetaOptional has "a"'],
  ['a negative kill timeout', {}, {}, { KillTimeout: -1 }, `${k}.KillTimeout must not be negative`],
  ['a negative shutdown delay', {}, { ShutdownDelay: -1 }, {}, `${g}.ShutdownDelay must not be negative`],
  ['both ways to be away', {}, { StopAfterClientDisconnect: 1, MaxClientDisconnect: 1 }, {}, `${g}.StopAfterClientDisconnect does not go together`],
  ['an unknown hook', {}, { Tasks: [{ Name: 'a', Driver: 'x', Lifecycle: { Hook: 'x' } }, { Name: 'b', Driver: 'x' }] }, {}, `${k}.Lifecycle.Hook must be one of prestart`],
  ['no main task', {}, {}, { Lifecycle: { Hook: 'prestart' } }, `${g}.Tasks has no main task`],
  ['two leaders', {}, { Tasks: [{ Name: 'a', Driver: 'x', Leader: true }, { Name: 'b', Driver: 'x', Leader: true }] }, {}, `${g}.Tasks has several leaders`],
  ['a task twice', {}, { Tasks: [{ Name: 'a', Driver: 'x' }, { Name: 'a', Driver: 'x' }] }, {}, `${g}.Tasks[1].Name is that of ${g}.Tasks[0] already`],
  ['a template of nothing', {}, {}, template({ EmbeddedTmpl: '' }), `${k}.Templates[0].EmbeddedTmpl is missing`],
  ['a template to nowhere', {}, {}, template({ DestPath: '' }), `${k}.Templates[0].DestPath is missing`],
  ['a template that leads out', {}, {}, template({ DestPath: 'local/../../../etc/x' }), `${k}.Templates[0].DestPath must not lead out`],
  ['a template for all tasks', {}, {}, template({ DestPath: '../alloc/x' }), null],
  ['an unknown change mode', {}, {}, template({ ChangeMode: 'x' }), `${k}.Templates[0].ChangeMode must be one of`],
  ['a cut-off of two lengths', {}, { MaxClientDisconnect: 1, Disconnect: { LostAfter: 2 } }, {}, `${g}.Disconnect.LostAfter is another name of MaxClientDisconnect`],
  ['a cut-off of one length', {}, { MaxClientDisconnect: 2, Disconnect: { LostAfter: 2, Replace: false } }, {}, null],
  ['a stop of two lengths', {}, { StopAfterClientDisconnect: 1, Disconnect: { StopOnClientAfter: 2 } }, {}, `${g}.Disconnect.StopOnClientAfter is another name`],
  ['a stop and a cut-off', {}, { Disconnect: { LostAfter: 1, StopOnClientAfter: 2 } }, {}, `${g}.StopAfterClientDisconnect does not go together`],
  ['one that nothing replaces for ever', {}, { Disconnect: { Replace: false } }, {}, `${g}.Disconnect.LostAfter is missing`],
  ['a strategy that is none', {}, { Disconnect: { Reconcile: 'x' } }, {}, `${g}.Disconnect.Reconcile must be one of`],
  ['a wait that ends before it began', {}, {}, template({ Wait: { Min: 2, Max: 1 } }), `${k}.Templates[0].Wait must have`],
  ['a wait', {}, {}, template({ Wait: { Min: 2 } }), null],
  ['a script without a command', {}, {}, template({ ChangeMode: 'script' }), `${k}.Templates[0].ChangeScript.Command is missing`],
  ['a script without time', {}, {}, template({ ChangeMode: 'script', ChangeScript: { Command: 'x', Timeout: 1 } }), `${k}.Templates[0].ChangeScript.Timeout must be at least 1s`],
  ['a script', {}, {}, template({ ChangeMode: 'script', ChangeScript: { Command: 'x' } }), null],
  ['a user below none', {}, {}, template({ Uid: -2 }), `${k}.Templates[0].Uid must be the number`],
  ['no user in particular', {}, {}, template({ Uid: -1, Gid: 0 }), null],
  ['less memory at most than is reserved', {}, {}, { Resources: { MemoryMB: 300, MemoryMaxMB: 299 } }, `${k}.Resources.MemoryMaxMB must be at least MemoryMB, which is 300, or -1 for no limit`],
  ['less memory than without a limit', {}, {}, { Resources: { MemoryMaxMB: -2 } }, `${k}.Resources.MemoryMaxMB must be at least MemoryMB, which is 300, or -1 for no limit`],
  ['a weight of nothing', {}, { Services: [{ Name: 's', Weights: { Passing: 0 } }] }, {}, `${g}.Services[0].Weights must be from 1 to 65535`],
  ['a tagged address that is none', {}, { Services: [{ Name: 's', TaggedAddresses: { lan: 'a b' } }] }, {}, `${g}.Services[0].TaggedAddresses.lan must be an address`],
  ['tagged addresses', {}, { Services: [{ Name: 's', TaggedAddresses: { lan: '10.0.0.7:80', wan: '${attr.x}' } }] }, {}, null],
  ['a warning after many looks', {}, check({ FailuresBeforeWarning: -1 }), {}, `${g}.Services[0].Checks[0].FailuresBeforeWarning must be from 0`],
  ['a change that sends an unknown signal', {}, {}, template({ ChangeMode: 'signal', ChangeSignal: 'hupp' }), `${k}.Templates[0].ChangeSignal "HUPP" is no signal`],
  ['a change that sends a signal', {}, {}, template({ ChangeMode: 'signal', ChangeSignal: 'sighup' }), null],
  ['a signal for an environment', {}, {}, template({ ChangeMode: 'signal', Envvars: true }), `${k}.Templates[0].ChangeMode must be restart`],
  ['a function that templates have not', {}, {}, template({ EmbeddedTmpl: 'a\n{{ secret "x" }}' }), `${k}.Templates[0].EmbeddedTmpl cannot be rendered: line 2: there is no function secret; there are and,`],
  ['a template by other signs', {}, {}, template({ EmbeddedTmpl: '{{ secret }}[[ key "x" ]]', LeftDelim: '[[', RightDelim: ']]' }), null],
  ['permissions in words', {}, {}, template({ Perms: 'rwx' }), `${k}.Templates[0].Perms must be octal`],
  ['an artifact of nothing', {}, {}, { Artifacts: [{}] }, `${k}.Artifacts[0].GetterSource is missing`],
  ['an artifact that leads out', {}, {}, { Artifacts: [{ GetterSource: 'https://a/x', RelativeDest: '../../x' }] }, `${k}.Artifacts[0].RelativeDest must not lead out`],
  ['an artifact of a repository', {}, {}, { Artifacts: [{ GetterSource: 'git::https://a/x' }] }, `${k}.Artifacts[0].GetterSource is not served: give http://`],
  ['an artifact known where it is got', {}, {}, { Artifacts: [{ GetterSource: '${meta.source}' }] }, null],
  ['an artifact with a poor checksum', {}, {}, { Artifacts: [{ GetterSource: 'https://a/x', GetterOptions: { checksum: 'md5:12' } }] }, `${k}.Artifacts[0].GetterSource needs a checksum as sha256:HEX`],
  ['an artifact with another option', {}, {}, { Artifacts: [{ GetterSource: 'https://a/x', GetterOptions: { depth: '1' } }] }, `${k}.Artifacts[0].GetterSource has no option depth`],
  ['an archive in one file', {}, {}, { Artifacts: [{ GetterSource: 'https://a/x.tar.gz', GetterMode: 'file' }] }, `${k}.Artifacts[0].GetterSource is an archive of many files`],
  ['a payload file that leads out', {}, {}, { DispatchPayload: { File: '../../../x' } }, `${k}.DispatchPayload.File must not lead out`],
  ['a mount of no volume', {}, {}, { VolumeMounts: [{ Volume: 'v', Destination: '/x' }] }, `${k}.VolumeMounts[0].Volume must be a volume`],
  ['a volume of CSI', {}, { Volumes: { v: { Type: 'csi', Source: 's' } } }, {}, 'TaskGroups[0].Volumes["v"].Type csi is not served: volumes are folders'],
  ['a mount', {}, { Volumes: { v: { Type: 'host', Source: 's' } } }, { VolumeMounts: [{ Volume: 'v', Destination: '/x' }] }, null],
  ['a volume of another type', {}, { Volumes: { v: { Type: 'nfs', Source: 's' } } }, {}, `${g}.Volumes["v"].Type must be host`],
  ['a port label twice', {}, ports({ Label: 'a' }, { Label: 'a' }), {}, `${g}.Networks[0].DynamicPorts[1].Label "a" is the label of`],
  ['a port label that no row takes', {}, ports({ Label: 'a'.repeat(257) }), {}, `${g}.Networks[0].DynamicPorts[0].Label must have at most 256 letters`],
  ['a long port label', {}, ports({ Label: 'a'.repeat(256) }), {}, null],
  ['more ports than a row takes', {}, ports(...manyPorts(256)), { Resources: { Networks: [{ DynamicPorts: [{ Label: 'more' }] }] } }, `${g}.Networks have 257 ports, with those of the tasks: at most 256`],
  ['many ports', {}, ports(...manyPorts(256)), {}, null],
  ['a static port twice', {}, { Networks: [{ ReservedPorts: [{ Label: 'a', Value: 80 }, { Label: 'b', Value: 80 }] }] }, {}, `${g}.Networks[0].ReservedPorts[1].Value 80 is the port of`],
  ['one static port of two networks', {}, { Networks: [{ ReservedPorts: [{ Label: 'a', Value: 80 }] }, { ReservedPorts: [{ Label: 'b', Value: 80, HostNetwork: 'in' }] }] }, {}, `${g}.Networks[1].ReservedPorts[0].Value 80 is the port of`],
  ['a port that is none', {}, ports({ Label: 'a', Value: 65_536 }), {}, `${g}.Networks[0].DynamicPorts[0].Value must be from 1 to 65535`],
  ['a port to nowhere', {}, ports({ Label: 'a', To: -2 }), {}, `${g}.Networks[0].DynamicPorts[0].To must be from -1`],
  ['a service of an unknown port', {}, { Services: [{ PortLabel: 'x' }] }, {}, `${g}.Services[0].PortLabel "x" is the label of no port`],
  ['a service twice', {}, { Services: [{ Name: 's' }, { Name: 's' }] }, {}, `${g}.Services[1].Name and PortLabel come to the id of ${g}.Services[0] in the catalog`],
  ['a service of a task twice', {}, {}, { Services: [{ Name: 's', PortLabel: '80' }, { Name: 's', PortLabel: '80' }] }, `${k}.Services[1].Name and PortLabel come to the id of ${k}.Services[0]`],
  ['services of one name', {}, { Services: [{ Name: 's' }, { Name: 's', PortLabel: '80' }] }, { Services: [{ Name: 's' }] }, null],
  ['services whose ids are one', {}, { Tasks: [{ Name: 'a', Driver: 'x', Services: [{ Name: 'b-c' }] }, { Name: 'a-b', Driver: 'x', Services: [{ Name: 'c' }] }] }, {}, `${g}.Tasks[1].Services[0].Name and PortLabel come to the id of ${g}.Tasks[0].Services[0]`],
  ['many tags', {}, tagged(...Array.from({ length: 257 }, String)), {}, `${g}.Services[0].Tags must be at most 256`],
  ['a long tag', {}, tagged('a', 'x'.repeat(513)), {}, `${g}.Services[0].Tags[1] must have at most 512 letters`],
  ['a long tag known where it runs', {}, tagged('${X}'.repeat(200)), {}, null],
  ['much meta of a service', {}, described(Array.from({ length: 64 }, (_, at) => [`k${at}`, ''])), {}, `${g}.Services[0].Meta must have at most 63 entries: agents add external-source`],
  ['much meta, with what agents add', {}, described([['external-source', 'x'], ...Array.from({ length: 63 }, (_, at) => [`k${at}`, ''])]), {}, null],
  ['a name of meta with a dot', {}, described([['a.b', '']]), {}, `${g}.Services[0].Meta["a.b"] must have a name of 1 to 128 letters`],
  ['a long name of meta', {}, described([['a'.repeat(129), '']]), {}, `${g}.Services[0].Meta["${'a'.repeat(64)}"] must have a name`],
  ['a long value of meta', {}, described([['a', 'x'.repeat(513)]]), {}, `${g}.Services[0].Meta["a"] must have at most 512 letters`],
  ['a long value known where it runs', {}, described([['a', '${X}'.repeat(200)]]), {}, null],
  ['many tagged addresses', {}, { Services: [{ Name: 's', TaggedAddresses: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`a${at}`, '10.0.0.7'])) }] }, {}, `${g}.Services[0].TaggedAddresses must have at most 16`],
  ['a service of an unknown task', {}, { Services: [{ TaskName: 'x' }] }, {}, `${g}.Services[0].TaskName must be a task`],
  ['a bad service name', {}, { Services: [{ Name: 'a.b' }] }, {}, `${g}.Services[0].Name must be letters`],
  ['a service name of its task', {}, { Services: [{ Name: '${TASK}-x' }] }, {}, null],
  ['a check', {}, check({}), {}, null],
  ['an unknown check', {}, check({ Type: 'x' }), {}, `${g}.Services[0].Checks[0].Type must be one of`],
  ['a check without time', {}, check({ Interval: 0 }), {}, `${g}.Services[0].Checks[0].Interval must be at least 1s`],
  ['a check that takes long', {}, check({ Timeout: 601 * second }), {}, `${g}.Services[0].Checks[0].Timeout must be at most 10m`],
  ['a check now and then', {}, check({ Interval: 721 * 3_600 * second }), {}, `${g}.Services[0].Checks[0].Interval must be at most 720h`],
  ['a check of many looks', {}, check({ FailuresBeforeCritical: 1_001 }), {}, `${g}.Services[0].Checks[0].FailuresBeforeCritical must be from 0 to 1000`],
  ['a check of another host', {}, check({ Path: 'http://x/' }), {}, `${g}.Services[0].Checks[0].Path must be a path`],
  ['a check without a port', {}, check({ PortLabel: '' }), {}, `${g}.Services[0].Checks[0].PortLabel is missing`],
  ['a script of the group', {}, check({ Type: 'script', Command: 'x' }), {}, `${g}.Services[0].Checks[0].TaskName is missing`],
  ['a restart by an ignored check', {}, check({ OnUpdate: 'ignore', CheckRestart: {} }), {}, `${g}.Services[0].Checks[0].OnUpdate ignore does not`],
]

t.test('what is wrong is named with its path', async (t) => {
  for (const [what, job, group, task, expected] of cases) {
    const problems = problemsOf(jobWith(job, group, task))
    if (expected === null) t.same(problems, [], what)
    else {
      t.ok(
        problems.some((text) => text.startsWith(expected)),
        `${what}: ${problems.join('; ')}`,
      )
    }
  }
})

t.test('all problems are told at once, and their number is bounded', async (t) => {
  t.same(problemsOf({}), [
    'ID is missing',
    'Name is missing',
    'Datacenters is empty: name one at least, or write ["*"] for all',
    'TaskGroups is empty: a job has a group at least',
  ])
  const many = problemsOf({ TaskGroups: Array.from({ length: 200 }, () => ({})) })
  t.equal(many.length, problemsMax + 1)
  t.match(many.at(-1), /^and \d+ more$/)
})

const refusedTypes: readonly (readonly [unknown, RegExp])[] = [
  [[], /^the job must be an object/],
  [{ Priority: '50' }, /^Priority must be a whole number/],
  [{ Priority: 1.5 }, /^Priority must be a whole number/],
  [{ priority: true, ID: 3 }, /^ID must be a string; Priority must be a whole number/],
  [{ AllAtOnce: 'yes' }, /^AllAtOnce must be true or false/],
  [{ TaskGroups: {} }, /^TaskGroups must be a list/],
  [
    { TaskGroups: [{ Tasks: [{ Env: { A: 1 } }] }] },
    /^TaskGroups\[0\]\.Tasks\[0\]\.Env\["A"\] must be a string/,
  ],
  [{ ID: 'x'.repeat(2_000) }, /^ID has 2000 letters, at most 1024/],
  [
    { TaskGroups: Array.from({ length: 300 }, () => ({})) },
    /^TaskGroups has 300 entries, at most 256/,
  ],
  [
    { TaskGroups: [{ Tasks: [{ Config: { a: nested(20) } }] }] },
    /Config.*is nested deeper than 16/,
  ],
  [
    { TaskGroups: [{ Tasks: [{ Config: { a: Array.from({ length: 100_001 }, () => 1) } }] }] },
    /Config\["a"\] and the Config before it come to over 100000 values$/,
  ],
]

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: nested(depth - 1) }
}

t.test('a member of a wrong type or size is refused', async (t) => {
  for (const [job, message] of refusedTypes) {
    t.throws(() => readJob(job), { code: 'invalid_argument', message })
  }
})

t.test('names match in any letter case, null is absent, unknown members are ignored', async (t) => {
  const { draft } = readJob({ id: 'a', NAME: 'b', Meta: null, Nothing: 1, TaskGroups: [null] })
  t.same(draft, { ID: 'a', Name: 'b', TaskGroups: [] })
  const env = JSON.parse('{"TaskGroups":[{"Tasks":[{"Env":{"__proto__":"x"}}]}]}')
  const [group] = readJob(env).draft.TaskGroups ?? []
  t.same(Object.keys(group?.Tasks?.[0]?.Env ?? {}), ['__proto__'])
})

t.test('what this program does not do is refused where it is set', async (t) => {
  const task = { Vault: { Policies: ['x'] }, CSIPluginConfig: null, Kind: '', Identities: [] }
  const { refused } = readJob(jobWith({ Multiregion: { Regions: [{ Name: 'x' }] } }, {}, task))
  t.match(refused.texts(), [
    /^Multiregion is not served/,
    /^TaskGroups\[0\]\.Tasks\[0\]\.Vault is not/,
  ])
  t.equal(refused.count, 2)
})

const Networks = (network: Json) => ({ Networks: [network] })
const refusedInGroup: readonly (readonly [group: Json, refusal: RegExp | null])[] = [
  [ports({ Label: 'a', HostNetwork: 'internal' }), /DynamicPorts\[0\]\.HostNetwork is not served/],
  [ports({ Label: 'a', hostnetwork: 'internal' }), /DynamicPorts\[0\]\.HostNetwork is not served/],
  [ports({ Label: 'a', HostNetwork: 'default' }, { Label: 'b', HostNetwork: '' }), null],
  [Networks({ DNS: { Servers: ['10.0.0.1'] } }), /Networks\[0\]\.DNS is not served/],
  [Networks({ DNS: { Servers: null, Searches: [], Options: null } }), null],
  [Networks({ Hostname: 'web' }), /Networks\[0\]\.Hostname is not served/],
  [Networks({ Hostname: '', DNS: null }), null],
  [{ EphemeralDisk: { Sticky: true } }, null],
  [{ EphemeralDisk: { Migrate: true } }, /EphemeralDisk\.Migrate true is not served/],
  [{ PreventRescheduleOnLost: true }, /PreventRescheduleOnLost is not served/],
  [{ RestartPolicy: { RenderTemplates: true } }, /RestartPolicy\.RenderTemplates is not served/],
  [{ PreventRescheduleOnLost: false, RestartPolicy: { RenderTemplates: false } }, null],
  [ports({ Label: 'a', IgnoreCollision: true }), /IgnoreCollision is not served/],
  [{ EphemeralDisk: { Sticky: false, Migrate: false } }, null],
]

t.test('what a group asks of networks and disks in vain is refused', async (t) => {
  for (const [group, refusal] of refusedInGroup) {
    const texts = readJob(jobWith({}, group)).refused.texts()
    const what = JSON.stringify(group)
    if (refusal === null) t.same(texts, [], what)
    else t.match(texts, [refusal], what)
  }
})

t.test('memory without a limit is in order', async (t) => {
  const job = jobWith({}, {}, { Resources: { MemoryMaxMB: -1 } })
  t.strictSame(problemsOf(job), [])
  t.match(warningsOf(completed(job), { oversubscribes: false }), [
    /MemoryMaxMB has no effect until/,
  ])
})

t.test('what is seldom meant is a warning', async (t) => {
  const off = { oversubscribes: false }
  const job = completed(
    jobWith(
      {},
      { Count: 2, Update: { MaxParallel: 5 }, Networks: [{ MBits: 10 }] },
      { Resources: { Networks: [{}], DiskMB: 5 } },
    ),
  )
  t.match(warningsOf(job, off), [
    /^TaskGroups\[0\]\.Update\.MaxParallel is above the count of 2/,
    /^TaskGroups\[0\]\.Networks has MBits/,
    /^TaskGroups\[0\]\.Tasks\[0\]\.Resources\.DiskMB is ignored: the disk belongs to the group/,
    /^TaskGroups\[0\]\.Tasks\[0\]\.Resources\.Networks is the old form/,
  ])
  const groups = [
    { Name: 'a', Update: { Canary: 1, AutoPromote: true }, Tasks: [] },
    { Name: 'b', Update: { Canary: 1 }, Tasks: [] },
  ]
  t.match(warningsOf(completed({ TaskGroups: groups }), off), [
    /^Update\.AutoPromote must be true in all/,
  ])
  t.same(warningsOf(completed(jobWith()), off), [])
  const above = completed(jobWith({}, {}, { Resources: { MemoryMaxMB: 600 } }))
  t.match(warningsOf(above, off), [/MemoryMaxMB has no effect until MemoryOversubscriptionEnabled/])
  t.same(warningsOf(above, { oversubscribes: true }), [])
})
