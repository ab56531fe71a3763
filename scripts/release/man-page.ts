/** The manual page, from the table of commands and their help. */
import { groupHelp, verbHelp } from '../../src/cli/help.ts'
import { makeVerbs } from '../../src/cli/verbs.ts'
import { version } from './project.ts'

const verbs = makeVerbs({
  version,
  runAgent: () => Promise.reject(new Error('only its help is read')),
  openRecovery: () => Promise.reject(new Error('only its help is read')),
})

/** `muster(1)`. */
export async function manPage(): Promise<string> {
  const sections: string[] = []
  for (const [name, entry] of Object.entries(verbs)) {
    const help = verbHelp(name, entry, await entry.load())
    sections.push(`.SS "muster ${name}"\n${verbatim(help)}`)
  }
  return `.TH MUSTER 1 "" "muster ${version}" "User Commands"
.SH NAME
muster \\- sessions, locks, health checks, variables and logins for a platform team
.SH SYNOPSIS
.B muster
.I command
[options]
.SH DESCRIPTION
${verbatim(groupHelp(verbs, []))}
.SH COMMANDS
${sections.join('\n')}
.SH FILES
.TP
.I /etc/muster.d
The agent's configuration, where the package's unit runs it.
.TP
.I /var/lib/muster
Its data.
.SH EXIT STATUS
0 when the command did its work, 1 when it failed, 2 when it was not understood.
`
}

/** As it stands: nothing in it is a request to the formatter. */
function verbatim(text: string): string {
  const lines = text.trimEnd().split('\n').map(roffLine)
  return `.nf\n${lines.join('\n')}\n.fi`
}

function roffLine(line: string): string {
  const text = line.replaceAll('\\', '\\e').replaceAll('-', '\\-')
  return /^[.']/.test(text) ? `\\&${text}` : text
}
