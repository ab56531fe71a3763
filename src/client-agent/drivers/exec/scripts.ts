/**
 * The shell scripts that build the walls around a task. What differs between tasks comes to them as positional parameters; nothing is
 * written into their text.
 *
 * - `launch` joins the task's control group, then starts `unshare`.
 * - `init` is the first process of the new PID namespace: when it ends, the kernel kills all others there.
 * - `walls`, its child, makes the root of the task.
 * - `enter` replaces it, has the user of the task, and becomes the task.
 *
 * All but `enter` are root, so the environment of the task is sealed until then: see `sealed-environment.ts`. Descriptor 3 is the log
 * of the walls, where the line `ready` says that the task begins, and 4 the standard error of the task.
 */

import { envProgram } from '../dotted-names.ts'

export const sealPrefix = 'MUSTER_SEALED_'
export const readyLine = 'ready'
/** Of a script that failed. */
export const failedCode = 125
/** The task's program is not there. */
export const missingCode = 127

/** $1: the log. $2: the folder of the control group, or nothing. Then the words to run. */
export const launch = withoutReasons(`
exec 3>>"$1" 4>&2 2>&3
[ -z "$2" ] || echo $$ >"$2/cgroup.procs" || exit ${failedCode}
# Within the new namespace the pid of the shell above is not known.
MUSTER_ABOVE=$PPID
export MUSTER_ABOVE
shift 2
exec "$@"
`)

/** For a command beside a task. $1: as $2 of \`launch\`. Then the words to run. */
export const launchBeside = `
exec 3>/dev/null 4>&2
[ -z "$1" ] || echo $$ >"$1/cgroup.procs" || exit ${failedCode}
shift
exec "$@"
`

/**
 * The words to run. The first process of a PID namespace gets no signal that it has no handler for, so that it is not the task itself.
 * It adopts what loses its parent, and waits for it.
 */
export const init = `
"$@"
exit $?
`

/**
 * $1: an empty folder for the root. $2: where the pids are written. $3 to $6: the folders that become /alloc, /local, /secrets and
 * /tmp. Then three words for each volume: its folder, its absolute destination, \`ro\` or \`rw\`. Then \`--\`, and the words to run.
 *
 * The root is a file system of its own in memory, made anew for each start: no task has left a link where something is mounted. What
 * tasks write to is mounted after everything else, and nothing is mounted below it.
 */
export const walls = withoutReasons(`
set -eu
# A step that fails ends this. What comes after the last step does not return here.
trap 'exit ${failedCode}' EXIT
# Whatever that of the agent is: others than root are to find their way.
umask 022
root=$1 pids=$2
# Of this shell, by the machine's /proc.
read -r pid rest </proc/self/stat
printf '%010d %010d\\n' "$MUSTER_ABOVE" "$pid" 1<>"$pids"
unset MUSTER_ABOVE

mount -t tmpfs -o mode=755,size=8m,nosuid,nodev tmpfs "$root"
cd "$root"

# What is mounted read-only: programs and libraries, and of /etc what everyone may read. Where /bin is a link to usr/bin, it is one here.
shown= links=
for part in /bin /sbin /lib /lib32 /lib64 /libx32 /usr /etc/alternatives /etc/ca-certificates /etc/fonts \
  /etc/java-*-openjdk /etc/pki/ca-trust/extracted /etc/pki/tls/certs /etc/ssl/certs; do
  case $part in
  /etc/*) [ ! -d "$part" ] || shown="$shown $part" ;;
  *) if [ -L "$part" ]; then links="$links $part"; elif [ -d "$part" ]; then shown="$shown $part"; fi ;;
  esac
done
folders=
for part in $shown; do folders="$folders .$part"; done
mkdir -p $folders etc/ssl proc dev/pts dev/shm var alloc local secrets tmp .machine
[ -z "$links" ] || cp -P $links .
for part in $shown; do mount -o bind,ro,nosuid,nodev "$part" ".$part"; done

# Copies of files, because links lead to /run, which is not here.
files=
for file in group host.conf hostname hosts ld.so.cache ld.so.conf ld.so.conf.d localtime mime.types \
  networks nsswitch.conf os-release passwd protocols resolv.conf rpc services terminfo timezone; do
  [ ! -e "/etc/$file" ] || files="$files /etc/$file"
done
cp -RL $files etc
[ ! -e /etc/ssl/openssl.cnf ] || cp -L /etc/ssl/openssl.cnf etc/ssl

mount -t proc -o nosuid,nodev,noexec proc proc
for device in null zero full random urandom tty; do
  : >"dev/$device"
  mount -o bind,nosuid,noexec "/dev/$device" "dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,nosuid,noexec devpts dev/pts
mount -t tmpfs -o mode=1777,size=64m,nosuid,nodev,noexec tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
ln -s fd/1 dev/stdout
ln -s fd/2 dev/stderr
ln -s /tmp var/tmp

shared=$3 local=$4 secrets=$5 tmp=$6
shift 6
while [ "$1" != -- ]; do
  mkdir -p "./$2"
  case $3 in
  ro) mount -o bind,ro,nosuid,nodev "$1" "./$2" ;;
  rw) mount -o bind,nosuid,nodev "$1" "./$2" ;;
  esac
  shift 3
done
shift
mount -o bind,nosuid,nodev "$shared" alloc
mount -o bind,nosuid,nodev "$local" local
mount -o bind,nosuid,nodev "$secrets" secrets
mount -o bind,nosuid,nodev "$tmp" tmp

# Not chroot, which a process with open folders leaves: after this the machine's root is not in the namespace any more.
pivot_root . .machine
cd /
umount -l /.machine
rmdir /.machine
mount -o remount,ro,nosuid,nodev /
exec "$@"
`)

/**
 * Names of variables, \`--\`, what `env` is to name anew or nothing, then the task's program and its arguments. The program is looked for as \`raw_exec\` does, and made
 * executable: by the user of the task, who owns what artifacts and templates left.
 */
export const enter = `
while [ "$1" != -- ]; do
  eval "$1=\\$${sealPrefix}$1"
  export "$1"
  unset "${sealPrefix}$1"
  shift
done
shift
muster_naming=$1
shift
cd /
unset OLDPWD
muster_program=$(
  found() { printf %s "$1"; exit; }
  case $1 in
  /*) own=$1 beside=$1 ;;
  *) own=/local/$1 beside=/$1 ;;
  esac
  for path in "$own" "$beside"; do
    if [ -f "$path" ] && { [ -x "$path" ] || /bin/chmod a+x "$path"; }; then found "$path"; fi
  done
  case $1 in
  */*) exit ;;
  esac
  set -f
  IFS=:
  for folder in $PATH; do
    if [ -f "$folder/$1" ] && [ -x "$folder/$1" ]; then found "$folder/$1"; fi
  done
)
if [ -z "$muster_program" ]; then
  echo "there is no program $1" >&2
  exit ${missingCode}
fi
case $muster_naming$muster_program in
-*/*=*)
  echo "$muster_program has = in its path, and its environment a name with a dot, or one that shells keep: rename one" >&2
  exit ${missingCode}
  ;;
esac
shift
echo ${readyLine} >&3 || exit ${failedCode}
exec 2>&4 3>&- 4>&-
[ -z "$muster_naming" ] || exec ${envProgram} -S "$muster_naming" "$muster_program" "$@"
exec "$muster_program" "$@"
`

/** They would be in each list of processes. */
function withoutReasons(script: string): string {
  return script.replaceAll(/^ *#.*\n/gm, '')
}
