/** Files of the bank: gzip and ZIP, quarantine and release, and the views of staff. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { hourMs, minuteMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { addPartner, balanceOf, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  casesOf,
  connectorId,
  createBankFolders,
  createIncomingBank,
  entryOf,
  markFiled,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'
import { zipOf, type ZipPart } from '../../../../test/support/zip.ts'
import type { BankFile, BankFilesQuery } from '../../rails/index.ts'
import { submitDuePayouts } from '../settlement/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { createFilesView } from './shown.ts'

let service: Service
let folders: BankFolders
let bank: ReturnType<typeof createIncomingBank>
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => connectorId })
  folders = await createBankFolders()
  bank = createIncomingBank(service, folders)
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

suite('compressed files (gzip and ZIP)', () => {
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

  test('a gzip statement is read once; a second copy is a duplicate', async () => {
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
    // The container and the document that was read.
    assert.deepEqual((await archived('taken')).toSorted(), ['a.xml.gz', 'a.xml.gz', 'c.xml.gz', 'c.xml.gz'])
  })

  test('each document of a ZIP file counts once, in any order and with any compression', async () => {
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

  test('a partly processed file that no longer passes inspection is read once, and stays until the settings fit', async () => {
    const { xml, posted } = await owner()
    const [plain, zip] = [xml(12_34n, 'E1'), zipOf([{ name: 'b.xml', bytes: xml(1_00n, 'E2') }])]
    const put = async () => {
      await folders.put('a.xml', plain)
      await folders.put('b.zip', zip)
    }
    await put()
    await createIncomingBank(service, folders).work()
    assert.deepEqual([await posted(), await folders.left()], [13_34n, []])
    // As after a kill.
    await service.db.run(sql`update rails.iso_messages set state = 'Taking', finished_at = null`)
    await put()
    let reads = 0
    const other = createIncomingBank(service, folders, {
      accounts: bank.deps.rules.accounts.map((each) => ({ ...each, iban: 'DE89370400440532013000' })),
      wrapTransport: (transport) => ({
        ...transport,
        read: (...call) => {
          reads += 1
          return transport.read(...call)
        },
      }),
    })
    await other.work()
    await other.work()
    assert.deepEqual([reads, (await folders.left()).toSorted()], [2, ['a.xml', 'b.zip']])
    assert.deepEqual(await readdir(join(folders.archive, 'incoming')), [])
    await createIncomingBank(service, folders).work()
    assert.deepEqual([await posted(), await folders.left()], [13_34n, []])
  })

  test(
    'a ZIP file made by a common program is read',
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

  test('an XML file may contain several messages, with any namespace prefixes', async () => {
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
    // A message in an envelope is read in place; a truncated envelope waits.
    await folders.put('b.xml', envelope(plain(8_00n, 'E4')))
    await folders.put('c.xml', envelope(plain(16_00n, 'E5'), plain(32_00n, 'E6')).slice(0, -30))
    await bank.work()
    assert.deepEqual([await posted(), await folders.left()], [15_00n, ['c.xml']])
    assert.ok((await messages()).some(({ fileName }) => fileName === 'b.xml'))
  })

  test('only the document that is not a message is quarantined; the others are read', async () => {
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

  test('a container left at the bank after a fault is finished in the next round and counts exactly once', async () => {
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

  suite('broken or oversized files are quarantined unchanged, with one case', () => {
    const text = Buffer.from('<Document/>')
    const one = (change: Partial<ZipPart>) => zipOf([{ name: 'a.xml', bytes: text, ...change }])
    const zeros = Buffer.alloc(8 << 20)
    /** Text that does not shrink much: 896,000 bytes. */
    const digits = Buffer.from(Array.from({ length: 14_000 }, (_none, index) => hash('sha256', String(index))).join(''))
    const refused: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
      'a bomb in gzip': [gzipSync(zeros), /the gzip file grows more than 200 times/],
      'a bomb in ZIP': [zipOf([{ name: 'a.xml', bytes: zeros }]), /the entry a\.xml grows more than 200 times/],
      'more bytes in total than a message may have': [
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
    test(`a truncated ${title} file waits to be completed, and is quarantined when it does not grow`, async () => {
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
})

suite('release of quarantined files by staff', () => {
  async function owner() {
    const partner = await addPartner(service)
    const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
    const credit = (minor: bigint, endToEndId: string) => {
      const references = { endToEndId }
      return entryOf(minor, {
        details: [{ references, creditorAccount: { iban: ibans[0].iban }, debtor: { name: 'Ada' } }],
      })
    }
    return { credit, posted: async () => (await balanceOf(service, partner.partnerId)).posted }
  }
  const aside = async () => {
    const [row] = await service.db.rows<{ id: string }>(sql`select id from rails.iso_messages where state = 'Aside'`)
    assert.ok(row)
    return row.id
  }
  const release = (id: string) => service.db.transaction((tx) => service.isoBanks.releaseFile(tx, id))

  test('a released message that reuses an id is processed once, even after a restart halfway', async () => {
    const { credit, posted } = await owner()
    const known = credit(7n, 'E1')
    await folders.put('a.xml', reportXml([known], { messageId: 'M1' }))
    await bank.work()
    await folders.put('b.xml', reportXml([known, credit(9n, 'E2')], { messageId: 'M1' }))
    await bank.work()
    assert.equal(await posted(), 7n)
    const id = await aside()
    const released = await Promise.allSettled([release(id), release(id)])
    assert.deepEqual(released.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    await bank.work()
    assert.equal(await posted(), 16n, 'the entry that was known counts once')
    // As after a crash before the file was marked as taken.
    await service.db.run(sql`update rails.iso_messages set taken_at = null where id = ${id}`)
    await bank.work()
    assert.equal(await posted(), 16n)
    const rows = await service.db.rows<{ state: string; messageId: string }>(
      sql`select state, message_id from rails.iso_messages order by state, message_id`,
    )
    assert.deepEqual(
      rows.map(({ state, messageId }) => [state, messageId.replace(/ [0-9a-f]{12}$/, ' HASH')]),
      [
        ['Aside', 'M1'],
        ['Taken', 'M1'],
        ['Taken', 'M1 HASH'],
      ],
    )
    // The same bytes sent again are a duplicate.
    await folders.put('c.xml', reportXml([known, credit(9n, 'E2')], { messageId: 'M1' }))
    await bank.work()
    assert.equal(await posted(), 16n)
    assert.deepEqual(await readdir(join(folders.archive, 'incoming')), [])
  })

  test('a released file whose sums differ counts by its entries', async () => {
    const { credit, posted } = await owner()
    const wrong = { kind: 'camt.053', opening: 0n, closing: 6n } as const
    await folders.put('a.xml', reportXml([credit(5n, 'E1')], wrong))
    await bank.work()
    assert.equal(await posted(), 0n)
    assert.deepEqual(
      (await casesOf(service)).map(({ kind }) => kind),
      ['sum_differs'],
    )
    await release(await aside())
    await bank.work()
    assert.equal(await posted(), 5n)
  })

  test('each entry of a released file without readable entries waits', async () => {
    const { credit, posted } = await owner()
    const text = reportXml([credit(5n, 'E1'), credit(7n, 'E2')]).replaceAll(
      '<EndToEndId>',
      '<EndToEndId>E</EndToEndId>$&',
    )
    await folders.put('a.xml', text)
    await bank.work()
    assert.deepEqual(
      (await casesOf(service)).map(({ kind }) => kind),
      ['file_unreadable'],
    )
    await release(await aside())
    await bank.work()
    const rows = () => service.db.rows(sql`select kind, amount from rails.iso_entries order by amount`)
    assert.deepEqual(await rows(), [
      { kind: 'waiting', amount: 5n },
      { kind: 'waiting', amount: 7n },
    ])
    assert.equal(await posted(), 0n)
    // The bank corrects the format: payments with the same references count once, in place of the entries.
    await folders.put('b.xml', text.replaceAll('<EndToEndId>E</EndToEndId>', '').replaceAll(/<MsgId>\w+/g, '<MsgId>B'))
    await bank.work()
    assert.equal(await posted(), 12n)
    assert.deepEqual(await rows(), [
      { kind: 'credit', amount: 5n },
      { kind: 'credit', amount: 7n },
    ])
  })

  test('a released file that the archive does not have opens a case, and a file that is no message cannot be released', async () => {
    const { credit } = await owner()
    const wrong = { kind: 'camt.053', opening: 0n, closing: 6n } as const
    await folders.put('a.xml', reportXml([credit(5n, 'E1')], wrong))
    await bank.work()
    const id = await aside()
    await rm(join(folders.archive, 'aside'), { recursive: true })
    await release(id)
    await bank.work()
    await bank.work()
    const [, opened, ...more] = await casesOf(service)
    assert.deepEqual([opened?.kind, more], ['file_unreadable', []])
    assert.match(opened?.details ?? '', /a\.xml was released but cannot be processed: the archive does not have it/)
    await folders.put('garbage.xml', 'not a message')
    await bank.work()
    const [garbage] = await service.db.rows<{ id: string }>(
      sql`select id from rails.iso_messages where state = 'Aside' and kind is null`,
    )
    await assert.rejects(release(garbage?.id ?? ''), { code: 'not_found' })
  })
})

suite('the pages of staff about bank files', () => {
  const shown = createFilesView([connectorId], operatorPartnerId)
  async function take(name: string, text: string) {
    await folders.put(name, text)
    await bank.work()
  }

  /** Reads all pages of two rows. */
  async function all(wanted: Partial<BankFilesQuery> = {}): Promise<readonly BankFile[]> {
    const files: BankFile[] = []
    for (let after: BankFile | undefined; ;) {
      const rows = await shown.page(service.db, { connector: undefined, show: 'all', rowsMax: 2, ...wanted, after })
      files.push(...rows)
      after = rows.at(-1)
      if (rows.length < 2) return files
    }
  }
  const namesOf = (files: readonly BankFile[]) => files.map(({ name }) => name)

  /** Creates three files of equal time, so that a page ends between them, then a later one, and one to the bank. */
  async function exchange() {
    for (const name of ['a.xml', 'b.xml']) await take(name, reportXml([entryOf(100n)]))
    await take('broken.xml', '<other/>')
    service.clock.advance(minuteMs)
    await take('later.xml', reportXml([entryOf(300n)]))
    service.clock.advance(minuteMs)
    const partner = await addPartner(service, 10_000n)
    await pay(service, partner, '12.50')
    await submitDuePayouts(bank.settlement)
    return { partner, ...(await markFiled(service)) }
  }

  test('the list shows files of both directions once, newest first, including files of equal time', async () => {
    await exchange()
    const names = namesOf(await all())
    assert.deepEqual(names.slice(0, 2), ['file.xml', 'later.xml'])
    assert.deepEqual(names.toSorted(), ['a.xml', 'b.xml', 'broken.xml', 'file.xml', 'later.xml'])
  })

  test('the list is filtered by bank and state', async () => {
    await exchange()
    assert.deepEqual(namesOf(await all({ show: 'aside' })), ['broken.xml'])
    assert.deepEqual(namesOf(await all({ show: 'sent' })), ['file.xml'])
    assert.deepEqual(namesOf(await all({ show: 'unsent' })), [])
    assert.equal((await all({ show: 'received', connector: connectorId })).length, 4)
    assert.deepEqual(namesOf(await all({ connector: 'iso20022-other' })), [])
    const elsewhere = createFilesView([], operatorPartnerId)
    const wanted = { connector: undefined, show: 'received', after: undefined, rowsMax: 9 } as const
    assert.equal((await elsewhere.page(service.db, wanted)).length, 4, 'files of a bank that is no longer configured')
  })

  test('the entries of a statement are listed in pages; a notification lists its entries that are not on a statement yet', async () => {
    const announced = entryOf(700n)
    await take('n.xml', reportXml([announced, entryOf(800n)]))
    await take(
      's.xml',
      reportXml([announced, entryOf(100n), entryOf(-30n)], { kind: 'camt.053', opening: 0n, closing: 770n }),
    )
    const files = await all()
    const readOf = async (name: string) => {
      const id = files.find((each) => each.name === name)?.id ?? ''
      const file = await shown.byId(service.db, id)
      const [statement] = await shown.statements(service.db, id, 9)
      assert.ok(file && statement)
      return { file, statement }
    }
    const statement = await readOf('s.xml')
    assert.deepEqual([statement.statement.closing, statement.statement.entries], [770n, 3n])
    const first = await shown.entries(service.db, statement, { after: undefined, rowsMax: 2 })
    const second = await shown.entries(service.db, statement, { after: first[1], rowsMax: 2 })
    assert.deepEqual([...first, ...second].map(({ amount }) => amount).toSorted(), [-30n, 100n, 700n].toSorted())
    const left = await shown.entries(service.db, await readOf('n.xml'), { after: undefined, rowsMax: 9 })
    assert.deepEqual(
      left.map(({ amount, kind, status }) => ({ amount, kind, status })),
      [{ amount: 800n, kind: 'credit', status: 'Applied' }],
    )
  })

  test('a file to the bank shows its payments and counts; an unknown file is not found', async () => {
    const { fileId, partner } = await exchange()
    const file = await shown.byId(service.db, fileId)
    assert.deepEqual([file?.direction, file?.state, file?.sent?.payments], ['sent', 'Delivered', 1n])
    const [payment, ...others] = await shown.payments(service.db, fileId, undefined, 9)
    assert.deepEqual(
      [payment?.partnerId, payment?.amount, payment?.status, others],
      [partner.partnerId, 1250n, 'Filed', []],
    )
    assert.deepEqual(await shown.payments(service.db, fileId, payment?.id, 9), [])
    assert.deepEqual(await shown.recalls(service.db, fileId, undefined, 9), [])
    assert.equal(await shown.byId(service.db, partner.partnerId), undefined)
  })

  test('files are found by full name or message id, newest first', async () => {
    await exchange()
    const [sent] = await all({ show: 'sent' })
    const ask = async (text: string, rowsMax = 10) => (await shown.named(service.db, text, rowsMax)).map(({ id }) => id)
    const byName = async (name: string) => (await all()).filter((file) => file.name === name).map(({ id }) => id)
    assert.deepEqual(await ask('a.xml'), await byName('a.xml'))
    assert.deepEqual([await ask(sent?.name ?? ''), await ask(sent?.messageId ?? '')], [[sent?.id], [sent?.id]])
    for (const part of ['a.xm', '.xml', 'A.xml', '%']) assert.deepEqual(await ask(part), [], part)
    await service.db.run(
      sql`update rails.iso_messages set file_name = 'report.xml', message_id = null, state = 'Aside'`,
    )
    const newest = (await all({ show: 'received' })).map(({ id }) => id)
    assert.equal(newest.length, 4)
    assert.deepEqual(await ask('report.xml'), newest)
    assert.equal((await ask('report.xml', 1))[0], newest[0])
  })
})
