/** The guarantees of both transports, on real folders and over a real SFTP server, and an SFTP server that fails. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { noOpenSsh, startOpenSsh } from '../../../../../test/support/openssh.ts'
import {
  type SftpFault,
  type SftpOperation,
  sftpOperations,
  startSftpServer,
} from '../../../../../test/support/sftp.ts'
import type { Transport } from '../deps.ts'
import { createFolderTransport } from '../banks.ts'
import { createSftpTransport } from './sftp.ts'
import { until } from '../../../../../test/support/until.ts'

const { signal } = new AbortController()
const root = await mkdtemp(join(tmpdir(), 'partner-payments-transport-'))

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(Buffer.from(chunk))
  return Buffer.concat(parts)
}

after(() => rm(root, { recursive: true, force: true }))

suite('both transports', () => {
  type Opened = { readonly transport: Transport; readonly close: () => Promise<void> }
  type Open = (folder: string, taken: boolean) => Promise<Opened>

  const overFolder: Open = (folder, taken) => {
    const transport = createFolderTransport({
      toBank: join(folder, 'to-bank'),
      fromBank: join(folder, 'from-bank'),
      taken: taken ? join(folder, 'taken') : undefined,
    })
    return Promise.resolve({ transport, close: transport.close })
  }
  const overSftp =
    (extensions: boolean): Open =>
    async (folder, taken) => {
      const server = await startSftpServer({ folder, extensions, readBytesMax: 20_000 })
      const transport = createSftpTransport({ ...server.config, taken: taken ? '/taken' : undefined }, 5_000)
      const close = async () => {
        await transport.close()
        await server.close()
      }
      return { transport, close }
    }

  const overOpenSsh: Open = async (folder, taken) => {
    const { config, close: stop } = await startOpenSsh(folder)
    const transport = createSftpTransport({ ...config, taken: taken ? config.taken : undefined }, 5_000)
    const close = async () => {
      await transport.close()
      await stop()
    }
    return { transport, close }
  }

  const kinds: Readonly<Record<string, Open>> = {
    folder: overFolder,
    'sftp with the extensions of OpenSSH': overSftp(true),
    'sftp without extensions': overSftp(false),
    'sftp of OpenSSH': overOpenSsh,
  }

  let count = 0
  async function withTransport(
    openTransport: Open,
    work: (transport: Transport, folder: string) => Promise<void>,
    taken = false,
  ) {
    const folder = join(root, String((count += 1)))
    for (const name of ['to-bank', 'from-bank', 'taken']) await mkdir(join(folder, name), { recursive: true })
    const { transport, close } = await openTransport(folder, taken)
    try {
      await work(transport, folder)
    } finally {
      await close()
    }
  }

  for (const [kind, openTransport] of Object.entries(kinds))
    suite(kind, { skip: openTransport === overOpenSsh && noOpenSsh }, () => {
      test('a staged file is published once, complete, and never replaces another file', () =>
        withTransport(openTransport, async (transport, folder) => {
          const bytes = Buffer.alloc(1_000_001, 'ä')
          await transport.stage('.a.1.tmp', Buffer.from('the attempt of a process that was killed'), signal)
          await transport.stage('.a.1.tmp', bytes, signal)
          assert.deepEqual(await readdir(join(folder, 'to-bank')), ['.a.1.tmp'])
          assert.equal(await transport.publish('.a.1.tmp', 'a.xml', signal), 'published')
          assert.equal(await transport.publish('.a.1.tmp', 'a.xml', signal), 'absent')
          assert.ok(bytes.equals(await readFile(join(folder, 'to-bank', 'a.xml'))))
          await transport.stage('.a.2.tmp', Buffer.from('other'), signal)
          await assert.rejects(transport.publish('.a.2.tmp', 'a.xml', signal), {
            name: 'Unreachable',
            message: /a\.xml already exists/,
          })
          assert.ok(bytes.equals(await readFile(join(folder, 'to-bank', 'a.xml'))))
          await transport.discard('.a.2.tmp', signal)
          await transport.discard('.a.2.tmp', signal)
          assert.deepEqual(await readdir(join(folder, 'to-bank')), ['a.xml'])
        }))

      test('the bank gets a file exactly once, even with many concurrent publishers', () =>
        withTransport(openTransport, async (transport, folder) => {
          await transport.stage('.b.tmp', Buffer.from('once'), signal)
          const outcomes = await Promise.allSettled(
            Array.from({ length: 5 }, () => transport.publish('.b.tmp', 'b.xml', signal)),
          )
          const published = outcomes.filter((each) => each.status === 'fulfilled' && each.value === 'published')
          assert.ok(published.length >= 1)
          assert.deepEqual(await readdir(join(folder, 'to-bank')), ['b.xml'])
          assert.equal(await transport.publish('.b.tmp', 'b.xml', signal), 'absent')
        }))

      test('a missing folder is an error, and not reported as a missing file', () =>
        withTransport(openTransport, async (transport, folder) => {
          await rm(join(folder, 'to-bank'), { recursive: true })
          await assert.rejects(transport.publish('.c.tmp', 'c.xml', signal), { name: 'Unreachable' })
          await assert.rejects(transport.stage('.c.tmp', Buffer.from('c'), signal), { name: 'Unreachable' })
          await rm(join(folder, 'from-bank'), { recursive: true })
          await assert.rejects(transport.list(signal), { name: 'Unreachable' })
        }))

      test('only complete files are listed', () =>
        withTransport(openTransport, async (transport, folder) => {
          const from = join(folder, 'from-bank')
          assert.deepEqual(await transport.list(signal), [])
          const names = [
            'one.xml',
            'two',
            'sp ace & ü.XML',
            ...Array.from({ length: 8 }, (_none, index) => `n${index}.xml`),
          ]
          for (const name of [...names, '.hidden', 'a.tmp', 'b.part', 'c.FILEPART'])
            await writeFile(join(from, name), name)
          await mkdir(join(from, 'folder.xml'))
          await symlink('/etc/passwd', join(from, 'link.xml'))
          const listed = await transport.list(signal)
          assert.deepEqual(listed.map(({ name }) => name).toSorted(), names.toSorted())
          assert.equal(listed.find(({ name }) => name === 'two')?.bytes, 3)
          assert.ok(listed.every(({ modifiedAt }) => Math.abs(modifiedAt.getTime() - Date.now()) < 60_000))
        }))

      test('a file is read from any offset', () =>
        withTransport(openTransport, async (transport, folder) => {
          const bytes = Buffer.from(Array.from({ length: 700_003 }, (_none, index) => index % 251))
          await writeFile(join(folder, 'from-bank', 'long'), bytes)
          for (const offset of [0, 1, 32_768, 500_000, 700_002, 700_003, 900_000]) {
            const read = await collect(transport.read('long', offset, signal))
            assert.ok(read.equals(bytes.subarray(offset)), `from ${offset}: ${read.length}`)
          }
          await assert.rejects(collect(transport.read('none', 0, signal)), { name: 'Unreachable' })
        }))

      test('the transport remains usable after a reader has stopped early', () =>
        withTransport(openTransport, async (transport, folder) => {
          await writeFile(join(folder, 'from-bank', 'long'), Buffer.alloc(2_000_000, 'x'))
          for await (const chunk of transport.read('long', 0, signal)) if (chunk.length > 0) break
          assert.equal((await transport.list(signal)).length, 1)
        }))

      test('a processed file is removed, and a second removal does nothing', () =>
        withTransport(openTransport, async (transport, folder) => {
          await writeFile(join(folder, 'from-bank', 'one.xml'), '1')
          await transport.finish('one.xml', signal)
          await transport.finish('one.xml', signal)
          assert.deepEqual(await readdir(join(folder, 'from-bank')), [])
        }))

      test('a processed file is moved to its folder, beside earlier files of the same name', () =>
        withTransport(
          openTransport,
          async (transport, folder) => {
            for (const text of ['1', '2', '3']) {
              await writeFile(join(folder, 'from-bank', 'statement.xml'), text)
              await transport.finish('statement.xml', signal)
              await transport.finish('statement.xml', signal)
            }
            assert.deepEqual((await readdir(join(folder, 'taken'))).toSorted(), [
              'statement.xml',
              'statement.xml.2',
              'statement.xml.3',
            ])
            assert.equal(await readFile(join(folder, 'taken', 'statement.xml.2'), 'utf8'), '2')
          },
          true,
        ))

      test('a file name with a path is refused', () =>
        withTransport(openTransport, async (transport) => {
          for (const name of ['../a', 'a/b', '..', '.', '', 'a\0b'])
            await assert.rejects(collect(transport.read(name, 0, signal)), { name: 'AssertionFailure' })
        }))

      test('calls on a closed transport or after their deadline fail', () =>
        withTransport(openTransport, async (transport) => {
          await assert.rejects(transport.list(AbortSignal.abort()))
          await transport.close()
        }))
    })
})

suite('a call to a hanging, broken, refusing or full SFTP server ends in time and leaves no socket', async () => {
  const bytes = Buffer.alloc(200_000, 'payment ')
  /** The time limit of a request under test. The end of a hanging call is awaited, not measured. */
  const requestMs = 1500

  let ordered: { readonly operation: SftpOperation; readonly fault: SftpFault } | undefined
  const open = () => createSftpTransport(server.config, requestMs)

  for (const name of ['to-bank', 'from-bank']) await mkdir(join(root, name))
  const fault = (operation: SftpOperation) => (ordered?.operation === operation ? ordered.fault : undefined)
  const server = await startSftpServer({ folder: root, fault })
  const transport = open()
  after(async () => {
    await transport.close()
    await server.close()
  })

  type Call = {
    readonly prepare?: () => Promise<unknown>
    readonly run: (transport: Transport) => Promise<unknown>
    /** Checks after the call has finally succeeded. */
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
  /** Makes a call that uses the operation. */
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
  /** Operations without an answer cannot be refused. */
  const faultsOf = (operation: SftpOperation): readonly SftpFault[] =>
    operation === 'connect' || operation === 'session'
      ? ['hang', 'cut']
      : operation === 'authenticate'
        ? ['hang', 'cut', 'error']
        : ['hang', 'cut', 'cut after', 'error', 'disk full']

  for (const operation of sftpOperations)
    suite(operation, () => {
      for (const fault of faultsOf(operation))
        test(`${fault}: the call throws Unreachable, leaves no socket, and can be repeated`, async () => {
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

  test('the client waits for a slow server up to the limit of each request', async () => {
    ordered = { operation: 'write', fault: 20 }
    await staging.run(transport)
    await staging.check()
    ordered = undefined
  })

  test('one connection serves consecutive and concurrent calls', async () => {
    await Promise.all([listing, staging, looking, listing].map(({ run }) => run(transport)))
    await listing.run(transport)
    assert.equal(server.connections(), 1)
  })

  test('a connection lost between two calls is opened again', async () => {
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

  test('an interrupted read continues where it stopped', async () => {
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

  test('the deadline of the caller ends the call and its connection', async () => {
    ordered = { operation: 'write', fault: 'hang' }
    const caller = new AbortController()
    const late = transport.stage('.late.tmp', bytes, caller.signal)
    caller.abort()
    await assert.rejects(late, { name: 'Unreachable' })
    ordered = undefined
    await until('the socket is closed', () => server.connections() === 0)
  })

  test('a server with a different host key is refused', async () => {
    const other = createSftpTransport({ ...server.config, hostKey: `SHA256:${'A'.repeat(43)}` }, requestMs)
    await assert.rejects(other.list(signal), { name: 'Unreachable', message: /another host key than SHA256:AAAA/ })
    await until('the socket is closed', () => server.connections() === 0)
    await other.close()
  })

  test('a server that refuses the key or does not answer is unreachable', async () => {
    ordered = { operation: 'authenticate', fault: 'error' }
    const fresh = open()
    await assert.rejects(fresh.list(signal), { name: 'Unreachable' })
    ordered = undefined
    const absent = createSftpTransport({ ...server.config, port: 1 }, requestMs)
    await assert.rejects(absent.list(signal), { name: 'Unreachable', message: /ECONNREFUSED|lost/ })
  })
})
