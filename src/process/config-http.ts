/** The `http` block of a configuration: what the API makes of requests that browsers send. */
import Type from 'typebox'
import type { Complain } from './config-check.ts'
import { closed, emptyBlock, isHost } from './config-values.ts'

const namesMax = 64

/** Each entry is checked below. */
function namesOf(what: string, about: string) {
  return Type.Array(Type.String({ description: `one of ${what}` }), {
    maxItems: namesMax,
    description: `a list of at most ${namesMax} ${what}`,
    default: [],
    shown: 'none',
    about,
  })
}

export const httpSchema = Type.Object(
  {
    allowed_hosts: namesOf(
      'host names',
      'host names without ports; `"*.example.com"` for all names below it; `"*"` switches the check off',
    ),
    cors: Type.Object(
      {
        allowed_origins: namesOf(
          'origins',
          'origins whose pages may use the API: exact, as in `"https://ui.example.com"`; not `"*"`, not `"null"`',
        ),
      },
      emptyBlock,
    ),
  },
  {
    ...closed,
    default: {},
    about:
      'DNS names in `Host`, pages of other origins: [Browsers](health-and-metrics.md#browsers)',
    shown: 'none',
  },
)

export type HttpConfig = {
  /** Names, `*.` and a name, or `*`. */
  readonly allowedHosts: readonly string[]
  /** As browsers send them. */
  readonly corsOrigins: readonly string[]
}

export function completeHttp(
  file: Type.StaticDecode<typeof httpSchema>,
  complain: Complain,
): HttpConfig {
  const { allowed_hosts: allowedHosts } = file
  for (const [at, host] of allowedHosts.entries()) {
    if (host !== '*' && !isHost(host.replace(/^\*\./, '').replace(/\.$/, ''))) {
      complain(
        `http.allowed_hosts.${at}`,
        `${JSON.stringify(host)} must be a host without a port, "*." and a name, or "*" for any host`,
      )
    }
  }
  const { allowed_origins: corsOrigins } = file.cors
  for (const [at, origin] of corsOrigins.entries()) {
    if (!isOrigin(origin)) {
      complain(
        `http.cors.allowed_origins.${at}`,
        `${JSON.stringify(origin)} must be an origin as browsers send it, as in "https://ui.example.com"; "*" and "null" are every page`,
      )
    }
  }
  return { allowedHosts, corsOrigins }
}

/** In lower case, without a path, and without the port that its scheme has anyway. */
function isOrigin(text: string): boolean {
  if (!/^https?:/.test(text) || !URL.canParse(text)) return false
  return new URL(text).origin === text
}
