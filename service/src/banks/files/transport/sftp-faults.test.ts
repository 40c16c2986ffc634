/** An SFTP server that hangs, cuts, refuses or is full, at each of its operations: the call ends in time, and leaves no socket. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import {
  type SftpFault,
  type SftpOperation,
  sftpOperations,
  startSftpServer,
} from '../../../../../test/support/sftp.ts'
import { until } from '../../../../../test/support/until.ts'
import type { Transport } from '../deps.ts'
import { createSftpTransport } from './sftp.ts'

const { signal } = new AbortController()
const root = await mkdtemp(join(tmpdir(), 'partner-payments-sftp-'))
const bytes = Buffer.alloc(200_000, 'payment ')
/** The limit of a request under test. The end of a call that hangs is awaited, not measured. */
const requestMs = 1500

let ordered: { readonly operation: SftpOperation; readonly fault: SftpFault } | undefined
let server: Awaited<ReturnType<typeof startSftpServer>>
let transport: Transport
const open = () => createSftpTransport(server.config, requestMs)

before(async () => {
  for (const name of ['to-bank', 'from-bank']) await mkdir(join(root, name))
  const fault = (operation: SftpOperation) => (ordered?.operation === operation ? ordered.fault : undefined)
  server = await startSftpServer({ folder: root, fault })
  transport = open()
})
after(async () => {
  await transport.close()
  await server.close()
  await rm(root, { recursive: true, force: true })
})

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(Buffer.from(chunk))
  return Buffer.concat(parts)
}

type Call = {
  readonly prepare?: () => Promise<unknown>
  readonly run: (transport: Transport) => Promise<unknown>
  /** The checks after the call has succeeded in the end. */
  readonly check: () => Promise<void>
}
const toBank = (name: string) => join(root, 'to-bank', name)
const fromBank = (name: string) => join(root, 'from-bank', name)

const listing: Call = { run: (each) => each.list(signal), check: () => Promise.resolve() }
const staging: Call = {
  run: (each) => each.stage('.staged.tmp', bytes, signal),
  check: async () => assert.ok((await readFile(toBank('.staged.tmp'))).equals(bytes)),
}
const publishing: Call = {
  prepare: async () => {
    await rm(toBank('published.xml'), { force: true })
    await writeFile(toBank('.published.tmp'), bytes)
  },
  run: (each) => each.publish('.published.tmp', 'published.xml', signal),
  check: async () => assert.ok((await readdir(join(root, 'to-bank'))).includes('published.xml')),
}
const looking: Call = {
  run: (each) => each.publish('.never.tmp', 'never.xml', signal),
  check: async () => assert.ok(!(await readdir(join(root, 'to-bank'))).includes('never.xml')),
}
const reading: Call = {
  prepare: () => writeFile(fromBank('read.xml'), bytes),
  run: async (each) => assert.ok((await collect(each.read('read.xml', 0, signal))).equals(bytes)),
  check: () => Promise.resolve(),
}
const finishing: Call = {
  prepare: () => writeFile(fromBank('finished.xml'), bytes),
  run: (each) => each.finish('finished.xml', signal),
  check: async () => assert.ok(!(await readdir(join(root, 'from-bank'))).includes('finished.xml')),
}
/** A call that uses the operation. */
const callsOf: Readonly<Record<SftpOperation, Call>> = {
  connect: listing,
  authenticate: listing,
  session: listing,
  opendir: listing,
  readdir: listing,
  open: staging,
  write: staging,
  fsync: staging,
  close: staging,
  lstat: publishing,
  rename: publishing,
  stat: looking,
  read: reading,
  remove: finishing,
}
/** An answer that refuses is none for what has no answer. */
const faultsOf = (operation: SftpOperation): readonly SftpFault[] =>
  operation === 'connect' || operation === 'session'
    ? ['hang', 'cut']
    : operation === 'authenticate'
      ? ['hang', 'cut', 'error']
      : ['hang', 'cut', 'cut after', 'error', 'disk full']

for (const operation of sftpOperations)
  suite(operation, () => {
    for (const fault of faultsOf(operation))
      test(`${fault}: the call ends as Unreachable, leaves no socket, and goes on when it is asked again`, async () => {
        const { prepare, run, check } = callsOf[operation]
        await prepare?.()
        const fresh = open()
        ordered = { operation, fault }
        await assert.rejects(run(fresh), { name: 'Unreachable' })
        ordered = undefined
        if (fault === 'hang' || fault === 'cut' || fault === 'cut after')
          await until('the socket is closed', () => server.connections() === 0)
        await run(fresh)
        await check()
        await fresh.close()
        await until('the socket is closed', () => server.connections() === 0)
      })
  })

test('a slow server is waited for within the time of each request', async () => {
  ordered = { operation: 'write', fault: 20 }
  await staging.run(transport)
  await staging.check()
  ordered = undefined
})

test('one connection serves call after call, and many at once', async () => {
  await Promise.all([listing, staging, looking, listing].map(({ run }) => run(transport)))
  await listing.run(transport)
  assert.equal(server.connections(), 1)
})

test('a connection that is lost between two calls is made again', async () => {
  await listing.run(transport)
  server.cut()
  await until('it is lost', () => server.connections() === 0)
  await until('it is made again', () =>
    listing.run(transport).then(
      () => true,
      () => false,
    ),
  )
})

test('a reading that is cut goes on behind what it has', async () => {
  // Longer than what is asked for at once, so that the connection ends before the last part is sent, however slowly this process reads.
  const long = Buffer.alloc(8_000_000, 'payment ')
  await writeFile(fromBank('cut.xml'), long)
  const parts: Uint8Array[] = []
  const read = async (from: number) => {
    for await (const chunk of transport.read('cut.xml', from, signal)) {
      parts.push(Buffer.from(chunk))
      if (from === 0) server.cut()
    }
  }
  await assert.rejects(read(0), { name: 'Unreachable' })
  const has = parts.reduce((sum, part) => sum + part.length, 0)
  assert.ok(has > 0 && has < long.length)
  await read(has)
  assert.ok(Buffer.concat(parts).equals(long))
})

test('the end of the caller’s time ends the call and its connection', async () => {
  ordered = { operation: 'write', fault: 'hang' }
  const caller = new AbortController()
  const late = transport.stage('.late.tmp', bytes, caller.signal)
  caller.abort()
  await assert.rejects(late, { name: 'Unreachable' })
  ordered = undefined
  await until('the socket is closed', () => server.connections() === 0)
})

test('a server with another host key is not spoken to', async () => {
  const other = createSftpTransport({ ...server.config, hostKey: `SHA256:${'A'.repeat(43)}` }, requestMs)
  await assert.rejects(other.list(signal), { name: 'Unreachable', message: /another host key than SHA256:AAAA/ })
  await until('the socket is closed', () => server.connections() === 0)
  await other.close()
})

test('a server that refuses the key, or is not there, is unreachable', async () => {
  ordered = { operation: 'authenticate', fault: 'error' }
  const fresh = open()
  await assert.rejects(fresh.list(signal), { name: 'Unreachable' })
  ordered = undefined
  const absent = createSftpTransport({ ...server.config, port: 1 }, requestMs)
  await assert.rejects(absent.list(signal), { name: 'Unreachable', message: /ECONNREFUSED|lost/ })
})
