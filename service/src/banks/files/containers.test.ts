/** Files of the bank in gzip and ZIP: each document counts once, and what is broken or too large books nothing. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { hourMs, minuteMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { addPartner, balanceOf, createTestService, type Service } from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  casesOf,
  createBankFolders,
  createIncomingBank,
  entryOf,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'
import { zipOf, type ZipPart } from '../../../../test/support/zip.ts'

let service: Service
let folders: BankFolders
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => 'iso20022' })
  folders = await createBankFolders()
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

async function owner() {
  const partner = await addPartner(service)
  const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
  const iban = ibans[0].iban
  const credit = (minor: bigint, endToEndId: string) =>
    entryOf(minor, { details: [{ references: { endToEndId }, creditorAccount: { iban }, debtor: { name: 'Ada' } }] })
  const xml = (minor: bigint, endToEndId: string) => Buffer.from(reportXml([credit(minor, endToEndId)]))
  return { xml, posted: async () => (await balanceOf(service, partner.partnerId)).posted }
}
const messages = () =>
  service.db.rows<{ state: string; fileName: string; problem: string | null }>(
    sql`select state, file_name, problem from rails.iso_messages order by received_at, id`,
  )
const kinds = async () => (await casesOf(service)).map(({ kind }) => kind)
const archived = async (state: string) =>
  (await readdir(join(folders.archive, state, '2026-01-01'))).map((name) => name.slice(17))

test('a statement in gzip is taken, and again only as a repetition', async () => {
  const { xml, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  const [first, second] = [xml(12_34n, 'E1'), xml(1_00n, 'E2')]
  await folders.put('a.xml.gz', gzipSync(first))
  await bank.work()
  assert.deepEqual([await posted(), await folders.left(), await kinds()], [12_34n, [], []])
  await folders.put('b.xml', first)
  await folders.put('c.xml.gz', gzipSync(second))
  await bank.work()
  assert.deepEqual([await posted(), await folders.left()], [13_34n, []])
  // The container, and the document as it was read.
  assert.deepEqual((await archived('taken')).toSorted(), ['a.xml.gz', 'a.xml.gz', 'c.xml.gz', 'c.xml.gz'])
})

test('each document of a ZIP counts once, whatever the order and the compression', async () => {
  const { xml, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  const first = xml(1_00n, 'E1')
  const zip = zipOf(
    [
      { name: 'day/', bytes: new Uint8Array(), isStored: true },
      { name: 'day/a.xml', bytes: first },
      { name: 'day/b.xml', bytes: xml(2_00n, 'E2'), isStored: true },
      { name: 'ä c.xml', bytes: xml(4_00n, 'E3') },
    ],
    { comment: 'of the bank' },
  )
  await folders.put('day.zip', zip)
  await bank.work()
  assert.deepEqual([await posted(), await folders.left(), await kinds()], [7_00n, [], []])
  assert.deepEqual(
    (await messages()).map(({ state, fileName }) => [state, fileName]),
    [
      ['Taken', 'day.zip/day/a.xml'],
      ['Taken', 'day.zip/day/b.xml'],
      ['Taken', 'day.zip/ä c.xml'],
    ],
  )
  assert.ok((await archived('taken')).includes('day.zip'))
  // The same container under another name, and a document of it alone.
  await folders.put('again.zip', zip)
  await folders.put('alone.xml', first)
  await bank.work()
  assert.deepEqual([await posted(), await folders.left()], [7_00n, []])
  assert.deepEqual((await messages()).map(({ state }) => state).toSorted(), [
    'Repeated',
    'Repeated',
    'Repeated',
    'Repeated',
    'Taken',
    'Taken',
    'Taken',
  ])
})

test(
  'a ZIP of the usual program is read',
  { skip: hasZip() ? false : 'the program zip is not installed' },
  async () => {
    const { xml, posted } = await owner()
    const folder = join(folders.root, 'zip')
    await mkdir(folder)
    for (const [name, minor] of [
      ['a.xml', 1_00n],
      ['b.xml', 2_00n],
    ] as const)
      await writeFile(join(folder, name), xml(minor, name))
    execFileSync('zip', ['-q', 'c.zip', 'a.xml', 'b.xml'], { cwd: folder })
    await folders.put('c.zip', await readFile(join(folder, 'c.zip')))
    await createIncomingBank(service, folders).work()
    assert.deepEqual([await posted(), await kinds()], [3_00n, []])
  },
)
function hasZip(): boolean {
  try {
    execFileSync('zip', ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test('an XML file with several messages is several messages, whatever the prefixes', async () => {
  const { xml, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  const plain = (minor: bigint, id: string) =>
    xml(minor, id)
      .toString()
      .replace(/^<\?xml[^>]*>\s*/, '')
  const prefixed = (text: string) =>
    text.replace(/<(\/?)([A-Z])/g, '<$1m:$2').replace('<m:Document xmlns=', '<m:Document xmlns:m=')
  const [first, second, third] = [
    plain(1_00n, 'E1 & <2>'.replace(/[&<>]/g, '-')),
    plain(2_00n, 'E2'),
    plain(4_00n, 'E3'),
  ]
  const envelope = (...documents: readonly string[]) =>
    `<?xml version="1.0" encoding="UTF-8"?>\n<c:conxml xmlns:c="urn:conxml:xsd:container.nnn.003.02"><c:ContainerId>1</c:ContainerId>${documents
      .map((document) => `<c:MsgCamt054><c:HashValue>00</c:HashValue>${document}</c:MsgCamt054>`)
      .join('\n')}</c:conxml>`
  const whole = envelope(first, prefixed(second), third)
  await folders.put('a.xml', whole)
  await bank.work()
  assert.deepEqual([await posted(), await folders.left(), await kinds()], [7_00n, [], []])
  assert.deepEqual((await messages()).map(({ state, fileName }) => `${state} ${fileName}`).toSorted(), [
    'Taken a.xml/1',
    'Taken a.xml/2',
    'Taken a.xml/3',
  ])
  // One message in an envelope is read where it is, and a cut envelope waits.
  await folders.put('b.xml', envelope(plain(8_00n, 'E4')))
  await folders.put('c.xml', envelope(plain(16_00n, 'E5'), plain(32_00n, 'E6')).slice(0, -30))
  await bank.work()
  assert.deepEqual([await posted(), await folders.left()], [15_00n, ['c.xml']])
  assert.ok((await messages()).some(({ fileName }) => fileName === 'b.xml'))
})

test('a document that is no message is quarantined alone, and the others are taken', async () => {
  const { xml, posted } = await owner()
  const whole = xml(1_00n, 'E1')
  await folders.put(
    'mixed.zip',
    zipOf([
      { name: 'readme.txt', bytes: Buffer.from('hello') },
      { name: 'a.xml', bytes: whole },
      { name: 'cut.xml', bytes: whole.subarray(0, -40) },
      { name: 'inner.zip', bytes: zipOf([{ name: 'x.xml', bytes: xml(2_00n, 'E2') }]) },
    ]),
  )
  await createIncomingBank(service, folders).work()
  assert.deepEqual([await posted(), await folders.left()], [1_00n, []])
  assert.deepEqual((await messages()).map(({ state }) => state).toSorted(), ['Aside', 'Aside', 'Aside', 'Taken'])
  assert.deepEqual(await kinds(), ['file_unreadable', 'file_unreadable', 'file_unreadable'])
})

test('a container that stays at the bank after a fault is finished in the next round, and counts once', async () => {
  const { xml, posted } = await owner()
  let faults = 1
  const bank = createIncomingBank(service, folders, {
    wrapTransport: (transport) => ({
      ...transport,
      finish: async (name, signal) => {
        faults -= 1
        if (faults >= 0) throw new Error('the bank hangs up')
        await transport.finish(name, signal)
      },
    }),
  })
  await folders.put(
    'a.zip',
    zipOf([
      { name: 'a.xml', bytes: xml(1_00n, 'E1') },
      { name: 'b.xml', bytes: xml(2_00n, 'E2') },
    ]),
  )
  await bank.incoming.step()
  assert.deepEqual(await folders.left(), ['a.zip'])
  // Another process continues.
  await createIncomingBank(service, folders).work()
  assert.deepEqual([await posted(), await folders.left(), await kinds()], [3_00n, [], []])
})

suite('what is broken or too large is quarantined as it is, with one case', () => {
  const text = Buffer.from('<Document/>')
  const one = (change: Partial<ZipPart>) => zipOf([{ name: 'a.xml', bytes: text, ...change }])
  const zeros = Buffer.alloc(8 << 20)
  /** Text that does not shrink much: 896,000 bytes. */
  const digits = Buffer.from(Array.from({ length: 14_000 }, (_none, index) => hash('sha256', String(index))).join(''))
  const refused: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
    'a bomb in gzip': [gzipSync(zeros), /the gzip file grows more than 200 times/],
    'a bomb in ZIP': [zipOf([{ name: 'a.xml', bytes: zeros }]), /the entry a\.xml grows more than 200 times/],
    'more bytes in all than a message may have': [
      zipOf([0, 1, 2].map((number) => ({ name: `${number}.xml`, bytes: digits }))),
      /the entry 2\.xml has more than \d+ bytes unpacked/,
    ],
    'too many entries': [
      zipOf(Array.from({ length: 1001 }, (_none, index) => ({ name: `${index}`, bytes: text }))),
      /has 1001 entries, and at most 1000/,
    ],
    'entries that share their bytes': [
      zipOf([
        { name: 'a.xml', bytes: text },
        { name: 'b.xml', bytes: text, sharedWith: 0 },
      ]),
      /overlaps another one/,
    ],
    'an encrypted entry': [one({ flags: 1 }), /is encrypted/],
    'another compression': [one({ method: 14 }), /compression method 14/],
    'a wrong checksum': [one({ checksum: 1 }), /does not fit its checksum/],
    'a wrong length': [one({ claimedBytes: 5 }), /does not fit its checksum/],
    'sizes of ZIP64': [one({ claimedBytes: 0xffffffff }), /is a ZIP64 file/],
    'no entries': [zipOf([]), /is empty/],
    'folders only': [zipOf([{ name: 'a/', bytes: new Uint8Array(), isStored: true }]), /is empty/],
    'bytes that are not deflated': [one({ isStored: true, method: 8 }), /cannot be unpacked/],
    'a broken gzip file': [
      Buffer.concat([gzipSync(text).subarray(0, -8), Buffer.alloc(8, 255)]),
      /the gzip file cannot be unpacked/,
    ],
  }
  for (const [title, [bytes, problem]] of Object.entries(refused))
    test(title, async () => {
      const bank = createIncomingBank(service, folders, { messageBytesMax: 2_000_000 })
      await folders.put('a.bin', bytes)
      await bank.work()
      const found = await messages()
      assert.deepEqual(
        found.map(({ state, fileName }) => [state, fileName]),
        [['Aside', 'a.bin']],
      )
      assert.match(found[0]?.problem ?? '', problem)
      assert.deepEqual(
        [await kinds(), await folders.left(), await archived('aside')],
        [['file_unreadable'], [], ['a.bin']],
      )
      const spool = await readdir(join(folders.archive, 'incoming'))
      assert.deepEqual(spool, [])
    })
})

for (const [title, whole] of [
  ['gzip', (xml: Buffer) => gzipSync(xml)],
  ['ZIP', (xml: Buffer) => zipOf([{ name: 'a.xml', bytes: xml }])],
] as const)
  test(`a cut ${title} file waits for its rest, and is quarantined when it does not grow`, async () => {
    const { xml, posted } = await owner()
    const bytes = whole(xml(1_00n, 'E1'))
    const bank = createIncomingBank(service, folders)
    await folders.put('a.bin', bytes.subarray(0, -10))
    await bank.work()
    assert.deepEqual([await folders.left(), await messages()], [['a.bin'], []])
    await folders.put('a.bin', bytes)
    await bank.work()
    assert.deepEqual([await posted(), await folders.left()], [1_00n, []])
    await folders.put('b.bin', whole(xml(2_00n, 'E2')).subarray(0, -10))
    await bank.work()
    service.clock.advance(hourMs + minuteMs)
    await bank.work()
    assert.deepEqual([await posted(), await folders.left(), await kinds()], [1_00n, [], ['file_unreadable']])
  })
