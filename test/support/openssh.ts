/** The SFTP server of OpenSSH as an operating system installs it, with keys and a port of its own, for the user who runs the tests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { SftpConfig } from '../../service/src/banks/files/transport/settings.ts'
import { makeKeys } from './sftp.ts'
import { until } from './until.ts'

const program = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/opt/homebrew/sbin/sshd'].find((path) => existsSync(path))

/** The reason for which tests cannot have it. False: it is there. */
export const noOpenSsh: string | false =
  program === undefined ? 'OpenSSH is not installed (Debian: openssh-server)' : false

/** Starts it on the folders `to-bank`, `from-bank` and `taken` of a folder. */
export async function startOpenSsh(
  folder: string,
): Promise<{ readonly config: SftpConfig; readonly close: () => Promise<void> }> {
  const home = await mkdtemp(join(tmpdir(), 'partner-payments-sshd-'))
  const { username, uid } = userInfo()
  const keys = makeKeys()
  const path = (name: string) => join(home, name)
  await writeFile(path('host'), keys.host, { mode: 0o600 })
  await writeFile(path('authorized'), `${keys.clientPublic}\n`, { mode: 0o600 })
  const port = await freePort()
  const settings = {
    ListenAddress: `127.0.0.1:${port}`,
    HostKey: path('host'),
    AuthorizedKeysFile: path('authorized'),
    PidFile: 'none',
    UsePAM: 'no',
    StrictModes: 'no',
    PasswordAuthentication: 'no',
    PermitRootLogin: 'prohibit-password',
    Subsystem: 'sftp internal-sftp',
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}`)
  await writeFile(path('config'), `${lines.join('\n')}\n`)
  // Its process without privileges changes its root to this folder.
  if (uid === 0) await mkdir('/run/sshd', { recursive: true, mode: 0o755 })
  const server = spawn(program ?? '', ['-D', '-e', '-f', path('config')], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  server.stderr.on('data', (text: Buffer) => void (said += text.toString()))
  await until('sshd answers', async () => {
    if (server.exitCode !== null) throw new Error(`sshd ended with ${server.exitCode}: ${said}`)
    return isOpen(port)
  })
  const config = {
    ...{ kind: 'sftp' as const, host: '127.0.0.1', port, username, passphrase: undefined, hostKey: keys.hostKey },
    privateKey: Buffer.from(keys.client),
    ...{ toBank: join(folder, 'to-bank'), fromBank: join(folder, 'from-bank'), taken: join(folder, 'taken') },
  }
  return { config, close: () => stop(server, home) }
}

async function stop(server: ChildProcess, home: string): Promise<void> {
  if (server.exitCode === null) {
    server.kill()
    await once(server, 'exit')
  }
  await rm(home, { recursive: true, force: true })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
