/**
 * Calls of Nomad's Go client that decode the answer's body (a `write` or `delete` with a value to fill): it fails with
 * "Got 0 byte response with non-nil decode object" where there is none. `*` is one segment of a path.
 */
const calls = `
PUT /v1/acl/bootstrap
PUT /v1/acl/token
PUT /v1/acl/token/*
PUT /v1/acl/token/onetime/exchange
PUT /v1/acl/role
PUT /v1/acl/role/*
PUT /v1/acl/auth-method
PUT /v1/acl/auth-method/*
PUT /v1/acl/binding-rule
PUT /v1/acl/binding-rule/*
PUT /v1/acl/oidc/auth-url
PUT /v1/acl/oidc/complete-auth
PUT /v1/acl/login
PUT /v1/agent/join
PUT /v1/agent/keyring/install
PUT /v1/agent/keyring/use
PUT /v1/agent/keyring/remove
PUT /v1/agent/schedulers/config
PUT /v1/client/allocation/*/restart
PUT /v1/client/allocation/*/signal
PUT /v1/client/allocation/*/pause
PUT /v1/allocation/*/stop
PUT /v1/client/metadata
PUT /v1/deployment/fail/*
PUT /v1/deployment/pause/*
PUT /v1/deployment/promote/*
PUT /v1/deployment/unblock/*
PUT /v1/deployment/allocation-health/*
DELETE /v1/evaluations
PUT /v1/jobs
PUT /v1/jobs/parse
PUT /v1/validate/job
DELETE /v1/job/*
PUT /v1/job/*
PUT /v1/job/*/dispatch
PUT /v1/job/*/evaluate
PUT /v1/job/*/periodic/force
PUT /v1/job/*/plan
PUT /v1/job/*/revert
PUT /v1/job/*/scale
PUT /v1/job/*/stable
PUT /v1/node/*/drain
PUT /v1/node/*/eligibility
PUT /v1/node/*/evaluate
PUT /v1/node/*/purge
PUT /v1/operator/autopilot/configuration
PUT /v1/operator/keyring/rotate
PUT /v1/operator/scheduler/configuration
PUT /v1/search
PUT /v1/search/fuzzy
PUT /v1/var/*
`

const decoded = calls
  .trim()
  .split('\n')
  .map((line) => {
    const [method = '', path = ''] = line.split(' ')
    return { method, segments: path.split('/') }
  })

/** Of a path as it is sent, or as a route has it (`:name`, and `*` for the rest). POST is as PUT. */
export function isDecoded(method: string, path: string): boolean {
  const asPut = method === 'POST' ? 'PUT' : method
  const segments = path.replace(/[?].*/s, '').split('/')
  return decoded.some(
    (call) =>
      call.method === asPut &&
      call.segments.length === segments.length &&
      call.segments.every((segment, at) => segment === '*' || segment === segments[at]),
  )
}
