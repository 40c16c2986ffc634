/** The guarantees of both transports: on real folders, and over a real SFTP server. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { noOpenSsh, startOpenSsh } from '../../../../../test/support/openssh.ts'
import { startSftpServer } from '../../../../../test/support/sftp.ts'
import type { Transport } from '../deps.ts'
import { createFolderTransport } from '../banks.ts'
import { createSftpTransport } from './sftp.ts'

const { signal } = new AbortController()
const root = await mkdtemp(join(tmpdir(), 'partner-payments-transport-'))
after(() => rm(root, { recursive: true, force: true }))

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

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(Buffer.from(chunk))
  return Buffer.concat(parts)
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
    test('a staged file gets its name once, whole, and never takes the place of another', () =>
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
          message: /a\.xml exists/,
        })
        assert.ok(bytes.equals(await readFile(join(folder, 'to-bank', 'a.xml'))))
        await transport.discard('.a.2.tmp', signal)
        await transport.discard('.a.2.tmp', signal)
        assert.deepEqual(await readdir(join(folder, 'to-bank')), ['a.xml'])
      }))

    test('of many that publish the same file at once, one does, and the bank gets it once', () =>
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

    test('a folder that is gone says nothing about a file', () =>
      withTransport(openTransport, async (transport, folder) => {
        await rm(join(folder, 'to-bank'), { recursive: true })
        await assert.rejects(transport.publish('.c.tmp', 'c.xml', signal), { name: 'Unreachable' })
        await assert.rejects(transport.stage('.c.tmp', Buffer.from('c'), signal), { name: 'Unreachable' })
        await rm(join(folder, 'from-bank'), { recursive: true })
        await assert.rejects(transport.list(signal), { name: 'Unreachable' })
      }))

    test('whole files are listed, and nothing else', () =>
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

    test('a reader that stops early leaves the transport usable', () =>
      withTransport(openTransport, async (transport, folder) => {
        await writeFile(join(folder, 'from-bank', 'long'), Buffer.alloc(2_000_000, 'x'))
        for await (const chunk of transport.read('long', 0, signal)) if (chunk.length > 0) break
        assert.equal((await transport.list(signal)).length, 1)
      }))

    test('a file that was taken is removed, once or many times', () =>
      withTransport(openTransport, async (transport, folder) => {
        await writeFile(join(folder, 'from-bank', 'one.xml'), '1')
        await transport.finish('one.xml', signal)
        await transport.finish('one.xml', signal)
        assert.deepEqual(await readdir(join(folder, 'from-bank')), [])
      }))

    test('a file that was taken moves to its folder, beside earlier ones of its name', () =>
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

    test('a name with a path is refused', () =>
      withTransport(openTransport, async (transport) => {
        for (const name of ['../a', 'a/b', '..', '.', '', 'a\0b'])
          await assert.rejects(collect(transport.read(name, 0, signal)), { name: 'AssertionFailure' })
      }))

    test('what is asked of a closed transport, or behind its time, fails', () =>
      withTransport(openTransport, async (transport) => {
        await assert.rejects(transport.list(AbortSignal.abort()))
        await transport.close()
      }))
  })
