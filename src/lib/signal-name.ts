/** Names of signals, as job files and requests write them: in any letter case, with or without `SIG`. */

/** That Linux has, of which a program elsewhere may lack some. */
const linuxSignals: ReadonlySet<string> = new Set([
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGILL',
  'SIGTRAP',
  'SIGABRT',
  'SIGIOT',
  'SIGBUS',
  'SIGFPE',
  'SIGKILL',
  'SIGUSR1',
  'SIGSEGV',
  'SIGUSR2',
  'SIGPIPE',
  'SIGALRM',
  'SIGTERM',
  'SIGCHLD',
  'SIGSTKFLT',
  'SIGCONT',
  'SIGSTOP',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
  'SIGURG',
  'SIGXCPU',
  'SIGXFSZ',
  'SIGVTALRM',
  'SIGPROF',
  'SIGWINCH',
  'SIGIO',
  'SIGPOLL',
  'SIGPWR',
  'SIGSYS',
])

export function fullSignalName(name: string): string {
  const upper = name.toUpperCase()
  return upper.startsWith('SIG') ? upper : `SIG${upper}`
}

/** Whatever system this program runs on. */
export function isLinuxSignal(name: string): boolean {
  return linuxSignals.has(fullSignalName(name))
}
