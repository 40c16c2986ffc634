/** The bank's folders over SFTP, as an SSH server on the loopback address with a key of its own and one client that it knows. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import ssh2, { type Connection } from 'ssh2'
import { serveFiles } from './sftp-files.ts'

export type SftpServer = {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly privateKeyFile: string
  /** `SHA256:` and the digest of the server's public key, as `ssh-keygen -l` prints it. */
  readonly hostKey: string
  readonly close: () => Promise<void>
}

const username = 'company'

/** A pair of keys that the library can read again: it writes one in 200 in a form that it refuses ("Malformed OpenSSH private key"). */
export function newKeyPair(): ReturnType<typeof ssh2.utils.generateKeyPairSync> {
  const pair = ssh2.utils.generateKeyPairSync('ed25519')
  return ssh2.utils.parseKey(pair.private) instanceof Error ? newKeyPair() : pair
}

/** Made at the first start. */
function keyIn(file: string): string {
  if (!existsSync(file)) writeFileSync(file, newKeyPair().private, { mode: 0o600 })
  return file
}

function publicKey(file: string) {
  const parsed = ssh2.utils.parseKey(readFileSync(file))
  if (parsed instanceof Error) throw parsed
  return parsed
}

export async function startSftp(root: string, port = 0): Promise<SftpServer> {
  const state = join(root, 'state')
  mkdirSync(state, { recursive: true })
  const hostKeyFile = keyIn(join(state, 'host-key'))
  const privateKeyFile = keyIn(join(state, 'client-key'))
  const client = publicKey(privateKeyFile)
  const clients = new Set<Connection>()
  const server = new ssh2.Server({ hostKeys: [readFileSync(hostKeyFile)] }, (connection) => {
    clients.add(connection)
    // Small answers would wait for each other: 40 ms for each request.
    ;(connection as Connection & { setNoDelay: (noDelay: boolean) => void }).setNoDelay(true)
    connection.on('close', () => clients.delete(connection))
    // A client that was killed resets its connection.
    connection.on('error', () => undefined)
    connection.on('authentication', (attempt) => {
      const isKnown =
        attempt.method === 'publickey' &&
        attempt.username === username &&
        attempt.key.data.equals(client.getPublicSSH()) &&
        (attempt.signature === undefined ||
          (attempt.blob !== undefined && client.verify(attempt.blob, attempt.signature, attempt.hashAlgo)))
      if (isKnown) attempt.accept()
      else attempt.reject(['publickey'])
    })
    connection.on('ready', () => {
      connection.on('session', (accept) => {
        accept().on('sftp', (acceptSftp) => serveFiles(acceptSftp(), root))
      })
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    username,
    privateKeyFile,
    hostKey: `SHA256:${createHash('sha256').update(publicKey(hostKeyFile).getPublicSSH()).digest('base64').replace(/=+$/, '')}`,
    close: async () => {
      for (const connection of clients) connection.end()
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(() => resolve())
      await promise
    },
  }
}
