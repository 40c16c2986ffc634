/** Payments become files, and each file reaches the bank once, with a real database and real folders. */
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import {
  atBank,
  createFolders,
  type Folders,
  initiationsOf,
  instructionOf,
  openBank,
  removeFolders,
  timesAtBank,
} from '../../../../test/support/iso-outgoing.ts'
import { schemaErrors } from '../../../../test/support/iso-schemas.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { profileById, defaultProfile } from '../../iso20022/index.ts'
import { dayMs, hourMs, newId, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { bankInstructionId, formatBatchIds, parseInstructionId } from './ids.ts'
import { createRequestRecall } from './recalls.ts'
import { createRequeue } from './statuses.ts'
import { countQueued, newestFiles, oldestUndelivered, releaseFileLeases } from './store-instructions.ts'

/** A Monday on which TARGET is open. */
const monday = new Date('2026-11-23T09:00:00Z')

suite('payments become files', async () => {
  let folders: Folders

  const service = await useModules({ now: monday })
  const partnerIds = await Promise.all([addPartner(service), addPartner(service)]).then((all) =>
    all.map((each) => each.partnerId),
  )
  const partnerId = partnerIds[0] ?? ''
  beforeEach(async () => {
    folders = await createFolders()
  })
  afterEach(async () => {
    await removeFolders(folders)
    for (const id of partnerIds) {
      await service.db.run(sql`delete from rails.iso_recalls where partner_id = ${id}`)
      await service.db.run(sql`delete from rails.iso_instructions where partner_id = ${id}`)
    }
    await service.db.run(sql`delete from rails.iso_files`)
  })

  const many = (count: number, change: Parameters<typeof instructionOf>[1] = {}) =>
    Array.from({ length: count }, (_none, index) => instructionOf(partnerIds[index % 2] ?? '', change))
  const rowOf = (id: string) =>
    service.db.row(
      sql`select status, scheme_applied, scheme_reason, attempt, file_id from rails.iso_instructions where id = ${id}`,
    )
  const open = (...more: Parameters<typeof openBank> extends [unknown, unknown, ...infer Rest] ? Rest : never) =>
    openBank(service, folders, ...more)

  suite('instructions', () => {
    test('an instruction that is sent repeatedly is accepted once and keeps its first answer', async () => {
      const { connector, work } = open()
      const good = instructionOf(partnerId)
      const bad = instructionOf(partnerId, { creditorAccount: 'NL92ABNA0417164300' })
      const outcomes = await connector.instruct([good, bad, good])
      assert.deepEqual(
        outcomes.map((outcome) => outcome !== 'unknown' && outcome.accepted),
        [true, false, true],
      )
      assert.deepEqual(outcomes[1], {
        accepted: false,
        errorKey: 'InvalidAccountDetails',
        details: 'The account number is not a valid IBAN.',
        reasonCode: 'AC01',
      })
      // The account was corrected under the same id: the first answer stays.
      const again = await Promise.all(
        [1, 2, 3].map(() => connector.instruct([{ ...bad, creditorAccount: good.creditorAccount }])),
      )
      assert.deepEqual(again, [[outcomes[1]], [outcomes[1]], [outcomes[1]]])
      await work()
      await connector.instruct([good])
      await work()
      assert.deepEqual([...(await timesAtBank(folders))], [[bankInstructionId({ id: good.id, attempt: 1 }), 1]])
      const [found, refused, absent] = await connector.find([good, bad, instructionOf(partnerId)])
      assert.deepEqual([found?.accepted, refused, absent], [true, outcomes[1], undefined])
      assert.deepEqual([await connector.instruct([]), await connector.find([])], [[], []])
    })

    test('instruction ids of the bank are parsed, and other texts are refused', () => {
      const id = newId()
      for (const attempt of [1, 2])
        assert.deepEqual(parseInstructionId(bankInstructionId({ id, attempt })), { id, attempt })
      for (const text of ['', 'NOTPROVIDED', `${id.replaceAll('-', '')}-1`, `x${id}`])
        assert.equal(parseInstructionId(text), undefined)
      assert.ok(formatBatchIds(id).every((batchId) => batchId.length <= 35))
    })
  })

  suite('files', () => {
    test('euro outside SEPA has a separate SWIFT batch, never SEPA or instant', async () => {
      const { connector, work } = open({ preferred: 'Instant' })
      const outside = { creditorAccount: 'SA0380000000608010167519', creditorBic: 'RJHISARI' }
      await connector.instruct([...many(2), ...many(2, outside)])
      service.clock.advance(hourMs)
      await work()
      const batches = (await initiationsOf(await atBank(folders))).flatMap((initiation) => initiation.batches)
      assert.deepEqual(
        batches
          .map(({ serviceLevel, localInstrument, chargeBearer, transfers }) => [
            ...[serviceLevel, localInstrument, chargeBearer],
            ...new Set(transfers.map(({ creditorAgent }) => creditorAgent?.bic)),
          ])
          .toSorted(),
        [
          ['NURG', undefined, 'SHAR', 'RJHISARI'],
          ['SEPA', 'INST', 'SLEV', instructionOf(partnerId).creditorBic ?? undefined],
        ],
      )
    })

    test('a file contains payments of one scheme and one currency', async () => {
      const [euros] = open().deps.rules.accounts
      assert.ok(euros)
      const accounts = [
        euros,
        { ...euros, iban: 'GB29NWBK60161331926819', currency: 'GBP' as const },
        { ...euros, iban: 'DE75512108001245126199', currency: 'USD' as const },
      ]
      const { connector, work } = open({ preferred: 'CreditTransfer', accounts, batchBooking: true })
      const outside = { creditorAccount: 'SA0380000000608010167519', creditorBic: 'RJHISARI' }
      await connector.instruct([
        ...many(1, outside),
        ...many(2),
        ...many(1, { currency: 'GBP' }),
        ...many(2, { currency: 'USD' }),
      ])
      service.clock.advance(hourMs)
      await work()
      const files = await initiationsOf(await atBank(folders))
      assert.deepEqual(
        files
          .map(({ batches }) =>
            batches.map(({ serviceLevel, chargeBearer, batchBooking, debtorAccount, transfers }) => [
              serviceLevel,
              chargeBearer,
              batchBooking,
              'iban' in debtorAccount && debtorAccount.iban,
              transfers.map(({ money: { currency } }) => currency).join(' '),
            ]),
          )
          .toSorted(),
        [
          [['NURG', 'SHAR', true, euros.iban, 'EUR']],
          [['NURG', 'SHAR', true, 'DE75512108001245126199', 'USD USD']],
          [['NURG', 'SHAR', true, 'GB29NWBK60161331926819', 'GBP']],
          [['SEPA', 'SLEV', true, euros.iban, 'EUR EUR']],
        ],
      )
      const sums = (await newestFiles(service.db, 'iso20022', 10)).map(({ controlSum }) => controlSum)
      assert.deepEqual(sums.toSorted(), ['10.00', '10.00', '20.00', '20.00'])
    })

    test('a file is built when enough payments wait or the oldest has waited long enough', async () => {
      const { connector, work } = open({ paymentsPerFileMax: 3, fileWindowMs: 10 * secondMs })
      const payments = many(7)
      await connector.instruct(payments)
      await work()
      assert.deepEqual(
        (await initiationsOf(await atBank(folders))).map(({ batches }) => batches[0]?.transfers.length),
        [3, 3],
      )
      assert.deepEqual(await countQueued(service.db, 'iso20022'), new Map([['CreditTransfer', 1]]))
      service.clock.advance(10 * secondMs)
      await work()
      const files = await atBank(folders)
      assert.equal(files.length, 3)
      const times = await timesAtBank(folders)
      assert.deepEqual(new Set(times.keys()), new Set(payments.map(({ id }) => bankInstructionId({ id, attempt: 1 }))))
      assert.ok([...times.values()].every((count) => count === 1))
      const initiations = await initiationsOf(files)
      assert.equal(new Set(initiations.map(({ messageId }) => messageId)).size, 3)
      assert.ok(initiations.every(({ messageId }) => messageId.length <= 35))
      assert.deepEqual(
        await schemaErrors(
          'pain.001.001.09',
          files.map(({ text }) => text),
        ),
        [],
      )
    })

    test('database row, archive and delivered file have the same bytes', async () => {
      const { connector, work } = open()
      await connector.instruct(
        many(5, { amount: 12_34n, creditorName: 'Jürgen Größe & Söhne', remittance: 'Rechnung № 7' }),
      )
      await work()
      const [file] = await atBank(folders)
      const [row] = await newestFiles(service.db, 'iso20022', 10)
      assert.ok(file && row)
      assert.deepEqual(
        [row.name, row.sha256, row.state, row.payments, row.controlSum, row.attempts],
        [file.name, file.sha256, 'Delivered', 5n, '61.70', 1],
      )
      const day = '2026-11-23'
      assert.equal(await readFile(join(folders.archive, 'out', day, file.name), 'utf8'), file.text)
      assert.deepEqual(await readdir(folders.toBank), [])
      assert.equal(await oldestUndelivered(service.db, 'iso20022'), null)
    })

    test('a payment in a currency without an account of ours is refused', async () => {
      const [refused] = await open().connector.instruct(many(1, { currency: 'USD' }))
      assert.ok(
        refused !== undefined &&
          refused !== 'unknown' &&
          !refused.accepted &&
          refused.errorKey === 'CurrencyNotAccepted',
      )
    })

    test('an ISO 11649 reference is sent as structured, any other text as unstructured', async () => {
      const { connector, work } = open()
      const reference = instructionOf(partnerId, { remittance: 'rf18 5390 0754 7034' })
      const wrong = instructionOf(partnerId, { remittance: 'RF19 5390 0754 7034' })
      await connector.instruct([reference, wrong])
      await work()
      const [initiation] = await initiationsOf(await atBank(folders))
      const remittances = initiation?.batches.flatMap(({ transfers }) =>
        transfers.map((transfer) => transfer.remittance),
      )
      assert.deepEqual(
        remittances?.map((each) => [each?.unstructured, each?.structured?.[0]?.creditorReference]),
        [
          [undefined, 'RF18539007547034'],
          [['RF19 5390 0754 7034'], undefined],
        ],
      )
    })

    test('a payment after the cut-off waits for the next window and requests its day', async () => {
      const hours = { opensAt: 7 * 60, cutOffAt: 16 * 60 }
      const { connector, work } = open(hours)
      // Friday, 18:00 in Berlin.
      service.clock.advance(new Date('2026-11-27T17:00:00Z').getTime() - service.clock.now().getTime())
      await connector.instruct(many(1))
      await work()
      service.clock.advance(2 * dayMs)
      await work()
      assert.deepEqual(await atBank(folders), [])
      service.clock.advance(new Date('2026-11-30T06:00:00Z').getTime() - service.clock.now().getTime())
      await work()
      const [initiation] = await initiationsOf(await atBank(folders))
      assert.equal(initiation?.batches[0]?.executionDate, '2026-11-30')
    })

    test('an instant payment does not wait for a window and has a separate file', async () => {
      const { connector, work } = open({
        preferred: 'Instant',
        opensAt: 7 * 60,
        cutOffAt: 16 * 60,
        fileWindowMs: hourMs,
        instantWindowMs: 0,
        instantMax: 100_00n,
      })
      service.clock.advance(new Date('2026-12-05T22:30:00Z').getTime() - service.clock.now().getTime())
      await connector.instruct([...many(2), ...many(1, { amount: 100_01n })])
      await work()
      const initiations = await initiationsOf(await atBank(folders))
      assert.deepEqual(
        initiations.flatMap(({ batches }) =>
          batches.map(({ localInstrument, executionDate, transfers }) => [
            localInstrument,
            executionDate,
            transfers.length,
          ]),
        ),
        [['INST', '2026-12-05', 2]],
      )
      service.clock.advance(new Date('2026-12-07T08:00:00Z').getTime() - service.clock.now().getTime())
      await work()
      assert.equal((await atBank(folders)).length, 2)
    })

    test('each of two banks receives only its own payments', async () => {
      const other = await createFolders()
      const first = open()
      const second = openBank(service, other, { id: 'iso20022-second' })
      const [mine, theirs] = many(2)
      assert.ok(mine && theirs)
      await first.connector.instruct([mine])
      await second.connector.instruct([theirs])
      await Promise.all([first.work(), second.work()])
      assert.deepEqual([...(await timesAtBank(folders)).keys()], [bankInstructionId({ ...mine, attempt: 1 })])
      assert.deepEqual([...(await timesAtBank(other)).keys()], [bankInstructionId({ ...theirs, attempt: 1 })])
      assert.deepEqual(await first.connector.find([theirs]), [undefined])
      await removeFolders(other)
    })
  })

  suite('repetitions and recalls', () => {
    test('a refused instant payment is sent exactly once more, as a credit transfer with a new id', async () => {
      const { connector, work, deps } = open({ preferred: 'Instant' })
      const payment = instructionOf(partnerId)
      await connector.instruct([payment])
      const requeue = createRequeue(deps)
      const refused = { partnerId, id: payment.id, reasonCode: 'AB05' }
      const again = () => service.db.transaction((tx) => requeue(tx, [refused]))
      assert.deepEqual(await again(), [], 'the bank does not have it')
      await work()
      assert.equal((await again()).length, 1)
      assert.deepEqual(await again(), [], 'it does not go as an instant payment')
      await work()
      assert.deepEqual([...(await timesAtBank(folders))].toSorted(), [
        [bankInstructionId({ id: payment.id, attempt: 1 }), 1],
        [bankInstructionId({ id: payment.id, attempt: 2 }), 1],
      ])
      const row = await rowOf(payment.id)
      assert.deepEqual(
        [row?.['schemeApplied'], row?.['schemeReason'], row?.['attempt'], row?.['status']],
        ['CreditTransfer', 'refused as an instant payment: AB05', 2, 'Filed'],
      )
      const unreached = open({ preferred: 'Instant', reach: { Instant: 'all', CreditTransfer: 'none' } })
      const other = instructionOf(partnerId)
      await unreached.connector.instruct([other])
      await unreached.work()
      const none = createRequeue(unreached.deps)
      assert.deepEqual(await service.db.transaction((tx) => none(tx, [{ ...refused, id: other.id }])), [])
    })

    test('files for a bank with version 03 have that version, and recalls refer to its message name', async () => {
      const { connector, work } = open({ profile: profileById('epc-03') ?? defaultProfile })
      const payment = instructionOf(partnerId)
      await connector.instruct([payment])
      await work()
      const [file] = await atBank(folders)
      assert.match(file?.text ?? '', /xsd:pain\.001\.001\.03"/)
      await createRequestRecall(service)({ partnerId, id: payment.id, reason: 'DUPL', staff: 'Sam Staff' })
      // The bank now gets version 09: the recall names the message version of the payment.
      await open().work()
      const recall = (await atBank(folders)).find(({ name }) => name.startsWith('camt.055'))
      assert.match(recall?.text ?? '', /<OrgnlMsgNmId>pain\.001\.001\.03<\/OrgnlMsgNmId>/)
    })

    test('payments that a changed profile does not support remain queued, and the others are sent', async () => {
      const [euros] = open().deps.rules.accounts
      assert.ok(euros)
      const pounds = { ...euros, iban: 'GB29NWBK60161331926819', currency: 'GBP' as const }
      const hours = { fileWindowMs: hourMs }
      const { connector } = open({ ...hours, accounts: [euros, pounds] })
      const [euro, pound] = [instructionOf(partnerId), instructionOf(partnerId, { currency: 'GBP' })]
      await connector.instruct([euro, pound])
      service.clock.advance(hourMs)
      await open({ ...hours, profile: profileById('dk-09') ?? defaultProfile }).work()
      assert.deepEqual([...(await timesAtBank(folders)).keys()], [bankInstructionId({ ...euro, attempt: 1 })])
      assert.equal((await rowOf(pound.id))?.['status'], 'Queued')
      await open({ ...hours, accounts: [euros, pounds] }).work()
      assert.equal((await timesAtBank(folders)).size, 2)
    })

    test('a recall is one camt.055 with the references of the original payment', async () => {
      const { connector, work } = open()
      const [first, second, waiting] = many(3)
      assert.ok(first && second && waiting)
      await connector.instruct([first, second])
      await work()
      await connector.instruct([waiting])
      const request = createRequestRecall(service)
      const recallOf = ({ partnerId: owner, id }: typeof first, reason: 'DUPL' | 'FRAD') =>
        request({ partnerId: owner, id, reason, staff: 'Sam Staff' })
      assert.equal((await recallOf(first, 'DUPL')).status, 'Queued')
      await recallOf(second, 'FRAD')
      await assert.rejects(recallOf(first, 'FRAD'), {
        detail: 'The payment already has a recall. Wait for its answer.',
      })
      await assert.rejects(recallOf(waiting, 'DUPL'), { detail: /Only a payment that the bank has/ })
      await assert.rejects(recallOf(instructionOf(partnerId), 'DUPL'), { code: 'not_found' })
      await work()
      const files = await atBank(folders)
      const recalls = files.filter(({ name }) => name.startsWith('camt.055'))
      assert.equal(recalls.length, 1)
      const text = recalls[0]?.text ?? ''
      for (const { id } of [first, second])
        assert.equal(text.split(bankInstructionId({ id, attempt: 1 })).length > 1, true)
      assert.match(text, /DUPL/)
      assert.match(text, /FRAD/)
      assert.deepEqual(await schemaErrors('camt.055.001.08', [text]), [])
      const rows = await service.db.rows(sql`select status, requested_by from rails.iso_recalls`)
      assert.deepEqual(rows, [
        { status: 'Sent', requestedBy: 'Sam Staff' },
        { status: 'Sent', requestedBy: 'Sam Staff' },
      ])
    })

    test('sterling payments wait on a London bank holiday, and euro payments are sent', async () => {
      const [euros] = open().deps.rules.accounts
      assert.ok(euros)
      const accounts = [euros, { ...euros, iban: 'GB29NWBK60161331926819', currency: 'GBP' as const }]
      const { connector, work } = open({ accounts, opensAt: 7 * 60, cutOffAt: 16 * 60 })
      const until = (time: string) => service.clock.advance(new Date(time).getTime() - service.clock.now().getTime())
      // Christmas Eve: a payment that misses its file waits for the next open day of its currency.
      until('2026-12-24T14:59:59Z')
      await connector.instruct([...many(1), ...many(2, { currency: 'GBP' })])
      until('2026-12-28T09:00:00Z')
      await connector.instruct([...many(1), ...many(1, { currency: 'GBP' })])
      service.clock.advance(hourMs)
      await work()
      const sent = async () =>
        (await initiationsOf(await atBank(folders))).flatMap(({ batches }) =>
          batches.map(({ executionDate, transfers }) => [
            executionDate,
            transfers.map(({ money }) => money.currency).join(' '),
          ]),
        )
      assert.deepEqual(await sent(), [['2026-12-28', 'EUR EUR']])
      until('2026-12-29T09:00:00Z')
      await work()
      assert.deepEqual((await sent()).toSorted(), [
        ['2026-12-28', 'EUR EUR'],
        ['2026-12-29', 'GBP GBP GBP'],
      ])
    })
  })
})

suite('a file reaches the bank exactly once', async () => {
  let folders: Folders

  const service = await useModules({ now: monday })
  const partnerIds = await Promise.all([addPartner(service), addPartner(service)]).then((all) =>
    all.map((each) => each.partnerId),
  )
  beforeEach(async () => {
    folders = await createFolders()
  })
  afterEach(async () => {
    await removeFolders(folders)
    for (const id of partnerIds) {
      await service.db.run(sql`delete from rails.iso_recalls where partner_id = ${id}`)
      await service.db.run(sql`delete from rails.iso_instructions where partner_id = ${id}`)
    }
    await service.db.run(sql`delete from rails.iso_files`)
  })

  const many = (count: number, change: Parameters<typeof instructionOf>[1] = {}) =>
    Array.from({ length: count }, (_none, index) => instructionOf(partnerIds[index % 2] ?? '', change))
  const open = (...more: Parameters<typeof openBank> extends [unknown, unknown, ...infer Rest] ? Rest : never) =>
    openBank(service, folders, ...more)

  suite('delivery', () => {
    test('a file built under an earlier configuration, or for a past day, is built again', async () => {
      const made = open({ opensAt: 0, cutOffAt: 16 * 60 })
      await made.connector.instruct(many(2))
      await made.steps.make()
      service.clock.advance(3 * dayMs)
      const later = open({ opensAt: 0, cutOffAt: 16 * 60, initiator: { name: 'New name' } })
      await later.work()
      const [initiation, ...more] = await initiationsOf(await atBank(folders))
      assert.equal(more.length, 0)
      assert.equal(initiation?.initiator.name, 'New name')
      const [row] = await newestFiles(service.db, 'iso20022', 1)
      assert.equal(row?.sha256, (await atBank(folders))[0]?.sha256)
      const today = service.clock.now().toISOString().slice(0, 10)
      assert.ok((initiation?.batches[0]?.executionDate ?? '') >= today)
    })

    test('no file is lost while the bank is unreachable, and the file shows the reason', async () => {
      const broken = open()
      await broken.connector.instruct(many(2))
      await rm(folders.toBank, { recursive: true })
      await broken.work()
      const [row] = await newestFiles(service.db, 'iso20022', 1)
      assert.deepEqual([row?.state, row?.attempts], ['Made', 1])
      assert.match(row?.problem ?? '', /stage: ENOENT/)
      assert.ok(await oldestUndelivered(service.db, 'iso20022'))
      await mkdir(folders.toBank)
      await broken.work()
      assert.equal((await atBank(folders)).length, 0, 'not before its pause is over')
      service.clock.advance(10 * secondMs)
      await broken.work()
      assert.equal((await timesAtBank(folders)).size, 2)
      assert.equal((await newestFiles(service.db, 'iso20022', 1))[0]?.problem, null)
    })

    test('removing a staged file before publication does not lose its payments', async () => {
      let removed = 0
      const bank = open({}, (transport) => ({
        ...transport,
        stage: async (temporary, bytes, signal) => {
          await transport.stage(temporary, bytes, signal)
          if (removed < 2) await unlink(join(folders.toBank, temporary))
          removed += 1
        },
      }))
      await bank.connector.instruct(many(3))
      for (let round = 0; round < 4; round += 1) {
        await bank.work()
        service.clock.advance(2 * 60 * secondMs)
      }
      const times = await timesAtBank(folders)
      assert.deepEqual([times.size, ...times.values()], [3, 1, 1, 1])
    })

    test('a rename whose answer was lost is detected as done and not repeated', async () => {
      let lost = 0
      const bank = open({}, (transport) => ({
        ...transport,
        publish: async (temporary, name, signal) => {
          const outcome = await transport.publish(temporary, name, signal)
          // The bank removes the file at once, so that the next look finds neither name.
          await atBank(folders)
          if ((lost += 1) === 1) throw new Error('the answer is lost')
          return outcome
        },
      }))
      await bank.connector.instruct(many(2))
      await bank.work()
      service.clock.advance(10 * secondMs)
      await bank.work()
      assert.deepEqual([...(await timesAtBank(folders)).values()], [1, 1])
      assert.equal((await newestFiles(service.db, 'iso20022', 1))[0]?.state, 'Delivered')
    })

    test('a process that loses its lease while staging delivers nothing', async () => {
      const { promise: held, resolve: release } = Promise.withResolvers<void>()
      const { promise: staging, resolve: begun } = Promise.withResolvers<void>()
      const slow = open({}, (transport) => ({
        ...transport,
        stage: async (temporary, bytes, signal) => {
          begun()
          await held
          await transport.stage(temporary, bytes, signal)
        },
      }))
      await slow.connector.instruct(many(2))
      await slow.steps.make()
      const late = slow.steps.deliver()
      await staging
      assert.equal(await open().steps.deliver(), 0, 'the lease holds')
      service.clock.advance(2 * 60 * secondMs)
      await open().work()
      release()
      assert.equal(await late, 0)
      assert.deepEqual([...(await timesAtBank(folders)).values()], [1, 1])
      assert.deepEqual(await readdir(folders.toBank), [])
    })

    test('when the only process restarts, unfinished files continue at once', async () => {
      const hangs = open({}, (transport) => ({ ...transport, publish: () => new Promise(() => undefined) }))
      await hangs.connector.instruct(many(1))
      await hangs.steps.make()
      void hangs.steps.deliver()
      const next = open()
      for (let waited = 0; (await oldestUndelivered(service.db, 'iso20022')) !== null && waited < 200; waited += 1) {
        await releaseFileLeases(service.db)
        await next.work()
      }
      assert.deepEqual([...(await timesAtBank(folders)).values()], [1])
    })

    test('with several processes, each payment is in one file and each file is delivered exactly once', async () => {
      const rules = { paymentsPerFileMax: 7, instantWindowMs: 0, preferred: 'Instant', instantMax: 10_00n } as const
      const processes = [open(rules), open(rules), open(rules)]
      const payments = [...many(60), ...many(60, { amount: 10_01n })]
      await Promise.all(
        processes.flatMap(({ connector, work }, index) => [
          connector.instruct(payments.slice(index * 20, index * 20 + 80)),
          work(),
        ]),
      )
      for (let round = 0; round < 3; round += 1) await Promise.all(processes.map(({ work }) => work()))
      const times = await timesAtBank(folders)
      assert.equal(times.size, 120)
      assert.ok([...times.values()].every((count) => count === 1))
    })
  })
})
