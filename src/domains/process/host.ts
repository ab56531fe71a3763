/** Data of the machine that this process runs on. What cannot be read is left empty: the rest still helps. */
import { readFile, statfs } from 'node:fs/promises'
import { networkInterfaces, release, type as kernelType } from 'node:os'
import { redactEnvironment } from './redaction.ts'

export type HostData = {
  readonly OS: string
  readonly Network: readonly Readonly<Record<string, string>>[]
  readonly ResolvConf: string
  readonly Hosts: string
  readonly Environment: Readonly<Record<string, string>>
  readonly Disk: Readonly<Record<string, { readonly DiskMB: number; readonly UsedMB: number }>>
}

const textLengthMax = 256 * 1024
const mountsMax = 256
const MB = 2 ** 20

/** Kernel's own trees, which have no disk. */
const virtualTypes: ReadonlySet<string> = new Set([
  'autofs',
  'binfmt_misc',
  'bpf',
  'cgroup',
  'cgroup2',
  'configfs',
  'debugfs',
  'devpts',
  'devtmpfs',
  'efivarfs',
  'fusectl',
  'hugetlbfs',
  'mqueue',
  'nsfs',
  'proc',
  'pstore',
  'rpc_pipefs',
  'securityfs',
  'sysfs',
  'tracefs',
])
/** A file system of another machine may keep `statfs` waiting for as long as that one is away. */
const remoteTypes = /^(nfs|cifs|smb|9p|fuse[.]sshfs|ceph|glusterfs|afs)/

export async function hostData(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<HostData> {
  const [system, resolvConf, hosts, disk] = await Promise.all([
    systemName(),
    text('/etc/resolv.conf'),
    text('/etc/hosts'),
    disks(),
  ])
  return {
    OS: system,
    Network: network(),
    ResolvConf: resolvConf,
    Hosts: hosts,
    Environment: redactEnvironment(environment),
    Disk: disk,
  }
}

async function text(path: string): Promise<string> {
  const whole = await readFile(path, 'utf8').catch(() => '')
  return whole.slice(0, textLengthMax)
}

async function systemName(): Promise<string> {
  const kernel = `${kernelType()} ${release()}`
  const name = /^PRETTY_NAME="?([^"\n]+)/m.exec(await text('/etc/os-release'))?.[1]
  return name === undefined ? kernel : `${name}, ${kernel}`
}

function network(): readonly Readonly<Record<string, string>>[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? []).map(({ address, netmask, mac, family }) => ({
      name,
      address,
      netmask,
      mac,
      family,
    })),
  )
}

async function disks(): Promise<HostData['Disk']> {
  const mounts = (await text('/proc/self/mounts')).split('\n').flatMap((line) => {
    const [, path, type] = line.split(' ')
    if (path === undefined || type === undefined) return []
    if (virtualTypes.has(type) || remoteTypes.test(type)) return []
    return [path.replaceAll(/\\([0-7]{3})/g, (_, code: string) => octal(code))]
  })
  const paths = [...new Set(['/', ...mounts])].slice(0, mountsMax)
  const found = await Promise.all(paths.map(async (path) => [path, await usage(path)] as const))
  return Object.fromEntries(found.flatMap(([path, used]) => (used === null ? [] : [[path, used]])))
}

function octal(code: string): string {
  return String.fromCharCode(Number.parseInt(code, 8))
}

/** Null for what has no size, or is gone by now. */
async function usage(path: string) {
  const figures = await statfs(path).catch(() => null)
  if (figures === null || figures.blocks === 0) return null
  const { blocks, bfree, bsize } = figures
  return {
    DiskMB: Math.floor((blocks * bsize) / MB),
    UsedMB: Math.floor(((blocks - bfree) * bsize) / MB),
  }
}
