/** Bulks of payouts, from items and from a pain.001. */
import assert from 'node:assert/strict'
import { beforeEach, suite, test } from 'node:test'
import { type BodyOf, rawNumber } from '@partner-payments/wire'
import { addPartner, balanceOf, createTestService, ip, type TestPartner } from '../../../../test/support/composition.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { dayMs, minuteMs, newId, nilId } from '../../kernel/index.ts'
import { eraseExpiredRecords, sql } from '../../postgres/index.ts'
import { type FilePayment, pain001Text } from '../../../../test/support/pain001.ts'
import { refused as refusedBy } from '../../../../test/support/refusals.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { checkPayouts as payoutFindings } from '../../ledger/integrity/store-payments.ts'
import { toPayoutRecord } from '../routes.ts'
import { keptBulks } from './store.ts'

suite('from items', async () => {
  let partner: TestPartner
  const service = await useModules()
  beforeEach(async () => {
    partner = await addPartner(service, 1_000_000_00n)
  })

  type Body = BodyOf<'createBulkPayout'>
  const item = (fields: object = {}): Body['payouts'][number] => ({
    amount: rawNumber('10.00'),
    currency: 'EUR',
    beneficiaryId: partner.beneficiary.id,
    idempotencyKey: newId(),
    ...fields,
  })
  const items = (count: number) => Array.from({ length: count }, () => item())
  const bulkOf = (mode: Body['mode'], payouts: Body['payouts'], idempotencyKey = newId()): Body => ({
    mode,
    idempotencyKey,
    payouts,
  })
  const create = (body: Body) => service.bulkPayouts.create(partner.caller, body, ip)
  const work = async () => {
    while ((await service.bulkPayouts.step()) > 0);
  }
  const resultOf = (id: string) => service.bulkPayouts.get(partner.partnerId, id)
  const itemsOf = (id: string) => service.bulkPayouts.items(partner.partnerId, id, undefined)
  const made = async () => {
    const { reserved } = await balanceOf(service, partner.partnerId)
    const row = await service.db.row<{ count: bigint }>(
      sql`select count(*) as count from payouts.payouts where partner_id = ${partner.partnerId}`,
    )
    return { payouts: Number(row?.count), reserved }
  }
  const refusal =
    (code: string, ...pointers: readonly string[]) =>
    (error: unknown) => {
      assert.ok(error instanceof Refusal, String(error))
      assert.equal(error.code, code)
      assert.deepEqual(
        error.errors.map(({ pointer }) => pointer),
        pointers,
      )
      return true
    }

  test('best effort: each payout is created or refused separately', async () => {
    const unknown = item({ beneficiaryId: newId() })
    const tooMuch = item({ amount: rawNumber('9999999.00') })
    const { bulk } = await create(bulkOf('BestEffort', [...items(298), unknown, tooMuch]))
    assert.deepEqual([bulk.status, bulk.accepted, bulk.refused], ['Processing', 0, 0])
    await work()
    const { status, accepted, refused, endedAt } = await resultOf(bulk.id)
    assert.deepEqual([status, accepted, refused, endedAt === null], ['Completed', 298, 2, false])
    const results = await itemsOf(bulk.id)
    assert.deepEqual(
      results.map(({ position }) => position),
      Array.from({ length: 300 }, (_, index) => index),
    )
    assert.deepEqual([results[298]?.problemCode, results[299]?.problemCode], ['not_found', 'insufficient_funds'])
    assert.equal(results[298]?.problemDetail, '/beneficiaryId: no such beneficiary')
    assert.deepEqual(await made(), { payouts: 298, reserved: 298_000n * 1n })
    const [first] = results
    const { row } = await service.transactions.get(partner.partnerId, first?.transactionReference ?? '')
    assert.equal(row.amount, 1000n)
  })

  test('all or nothing: one refusal prevents all payouts, and the corrected bulk may use the same keys', async () => {
    const good = items(5)
    const { bulk } = await create(bulkOf('AllOrNothing', [...good, item({ beneficiaryId: newId() })]))
    await work()
    assert.equal((await resultOf(bulk.id)).status, 'Refused')
    assert.deepEqual(
      (await itemsOf(bulk.id)).map(({ status, problemCode }) => problemCode ?? status),
      ['NotMade', 'NotMade', 'NotMade', 'NotMade', 'NotMade', 'not_found'],
    )
    assert.deepEqual(await made(), { payouts: 0, reserved: 0n })
    const corrected = await create(bulkOf('AllOrNothing', good))
    await work()
    assert.equal((await resultOf(corrected.bulk.id)).accepted, 5)
    assert.deepEqual(await made(), { payouts: 5, reserved: 5000n })
  })

  test('all or nothing: the balance must cover the sum', async () => {
    const { bulk } = await create(
      bulkOf('AllOrNothing', [item({ amount: rawNumber('600000.00') }), item({ amount: rawNumber('600000.00') })]),
    )
    await work()
    const results = await itemsOf(bulk.id)
    assert.ok(results.some(({ problemCode }) => problemCode === 'insufficient_funds'))
    assert.deepEqual(await made(), { payouts: 0, reserved: 0n })
  })

  test('if a worker dies between the payouts and their results, the next worker creates no payout twice', async () => {
    for (const mode of ['BestEffort', 'AllOrNothing'] as const) {
      partner = await addPartner(service, 1_000_000_00n)
      const payouts = items(10)
      const { bulk } = await create(bulkOf(mode, payouts))
      // The payout that the dead worker had created.
      for (const body of payouts.slice(0, 5)) await service.payouts.create(partner.caller, body, ip)
      await work()
      assert.equal((await resultOf(bulk.id)).accepted, 10)
      assert.deepEqual(await made(), { payouts: 10, reserved: 10_000n })
    }
  })

  test('another worker takes over the bulk of a dead worker after its lease', async () => {
    const { bulk } = await create(bulkOf('BestEffort', items(3)))
    const held = { leaseId: newId(), until: new Date(service.clock.now().getTime() + minuteMs) }
    await service.db.run(sql`
    update payouts.bulks set lease_id = ${held.leaseId}, due_at = ${held.until}
    where partner_id = ${partner.partnerId} and id = ${bulk.id}`)
    await work()
    assert.equal((await resultOf(bulk.id)).status, 'Processing')
    service.clock.advance(2 * minuteMs)
    await work()
    assert.equal((await resultOf(bulk.id)).accepted, 3)
  })

  test('two concurrent workers and single payouts with the same keys create each payout exactly once', async () => {
    const shared = items(20)
    const bulks = await Promise.all([
      create(bulkOf('BestEffort', shared)),
      create(bulkOf('AllOrNothing', [...shared.slice(0, 10), ...items(10)])),
      create(bulkOf('BestEffort', items(300))),
    ])
    await Promise.all([
      work(),
      work(),
      work(),
      ...shared.map((body) => service.payouts.create(partner.caller, body, ip)),
    ])
    await work()
    for (const { bulk } of bulks) assert.equal((await resultOf(bulk.id)).status, 'Completed')
    assert.deepEqual(await made(), { payouts: 330, reserved: 330_000n })
  })

  test('an item whose key belongs to another payout is refused', async () => {
    const taken = item()
    await service.payouts.create(partner.caller, taken, ip)
    const { bulk } = await create(bulkOf('BestEffort', [{ ...taken, amount: rawNumber('11.00') }, item()]))
    await work()
    assert.deepEqual(
      (await itemsOf(bulk.id)).map(({ problemCode }) => problemCode),
      ['idempotency_key_reused', null],
    )
  })

  test('every wrong field is refused with its pointer, and nothing is stored', async () => {
    const twice = item()
    const wrong = bulkOf('BestEffort', [item({ amount: rawNumber('1.001') }), twice, twice, item({ currency: 'XXX' })])
    await assert.rejects(
      create(wrong),
      refusal('validation_failed', '/payouts/0/amount', '/payouts/2/idempotencyKey', '/payouts/3/currency'),
    )
    await assert.rejects(
      create(bulkOf('BestEffort', [item({ currency: 'USDC' })])),
      refusal('currency_not_supported', '/payouts/0/currency'),
    )
    assert.equal((await service.bulkPayouts.list(partner.partnerId, {})).data.length, 0)
  })

  test('a repeated key gets the first answer, also concurrently, and is refused with another body', async () => {
    const body = bulkOf('BestEffort', items(2))
    const both = await Promise.all([create(body), create(body)])
    assert.equal(both[0].bulk.id, both[1].bulk.id)
    assert.deepEqual(both.map(({ replayed }) => replayed).toSorted(), [false, true])
    await work()
    const again = await create(body)
    assert.deepEqual([again.bulk.status, again.bulk.accepted, again.replayed], ['Processing', 0, true])
    await assert.rejects(
      create({ ...body, mode: 'AllOrNothing' }),
      refusal('idempotency_key_reused', '/idempotencyKey'),
    )
    assert.deepEqual(await made(), { payouts: 2, reserved: 2000n })
  })

  test('partners alternate: one bulk of a partner does not wait for many bulks of another partner', async () => {
    await work()
    const other = await addPartner(service, 1_000_00n)
    for (let count = 0; count < 6; count += 1) await create(bulkOf('BestEffort', items(1)))
    const late = await service.bulkPayouts.create(
      other.caller,
      bulkOf('BestEffort', [item({ beneficiaryId: other.beneficiary.id })]),
      ip,
    )
    await service.bulkPayouts.step()
    await service.bulkPayouts.step()
    const { status, accepted } = await service.bulkPayouts.get(other.partnerId, late.bulk.id)
    assert.deepEqual([status, accepted], ['Completed', 1])
    await work()
  })

  test('429 while the bulks of the partner have 10,000 open payouts; a repeated key gets its answer', async () => {
    const first = bulkOf('BestEffort', items(1000))
    await create(first)
    for (let count = 0; count < 9; count += 1) await create(bulkOf('BestEffort', items(1000)))
    await assert.rejects(create(bulkOf('BestEffort', items(1))), refusal('rate_limited'))
    assert.equal((await create(first)).replayed, true)
    const other = await addPartner(service, 1_000_00n)
    await service.bulkPayouts.create(other.caller, bulkOf('BestEffort', items(1)), ip)
    await service.db.transaction((tx) =>
      tx.run(
        sql`update payouts.bulks set status = 'Refused', due_at = null, ended_at = created_at where due_at is not null`,
      ),
    )
  })
})

suite('end-to-end ids', async () => {
  const service = await useModules()

  test('an item keeps the end-to-end id of its request, and an id that a bank may refuse is refused', async () => {
    const partner = await addPartner(service, 1_000_00n)
    const create = (...ids: readonly string[]) =>
      service.bulkPayouts.create(
        partner.caller,
        {
          mode: 'BestEffort',
          idempotencyKey: newId(),
          payouts: ids.map((endToEndId) => ({
            ...{ amount: rawNumber('10.00'), currency: 'EUR', beneficiaryId: partner.beneficiary.id },
            ...{ idempotencyKey: newId(), endToEndId },
          })),
        },
        ip,
      )
    const { bulk } = await create('INV-7', 'INV-8')
    while ((await service.bulkPayouts.step()) > 0);
    const items = await service.bulkPayouts.items(partner.partnerId, bulk.id, undefined)
    assert.deepEqual(
      items.map(({ endToEndId }) => endToEndId),
      ['INV-7', 'INV-8'],
    )
    const payout = await service.payouts.get(partner.partnerId, items[0]?.payoutId ?? '')
    assert.equal(payout.partnerEndToEndId, 'INV-7')
    await assert.rejects(create('INV-7', 'A//B'), refusedBy('validation_failed', '/payouts/1/endToEndId'))
  })
})

suite('from a pain.001', async () => {
  let partner: TestPartner
  const service = await useModules()
  beforeEach(async () => {
    partner = await addPartner(service, 1_000_00n)
  })

  const create = (document: string, more: object = {}) =>
    service.bulkPayouts.createFromFile(
      partner.caller,
      { mode: 'AllOrNothing', idempotencyKey: newId(), customerId: partner.customer.id, document, ...more },
      ip,
    )
  const file = (messageId: string, payments: readonly FilePayment[], more: object = {}) =>
    pain001Text(messageId, payments, { createdAt: service.clock.now(), ...more })
  const work = async () => {
    while ((await service.bulkPayouts.step()) > 0);
  }
  const refused = (text: RegExp) => (error: unknown) => {
    assert.ok(error instanceof Refusal, String(error))
    assert.equal(error.code, 'validation_failed')
    assert.equal(error.errors[0]?.pointer, '/document')
    assert.match(error.errors[0]?.message ?? '', text)
    return true
  }

  test('the payments of a file become payouts with their text for the beneficiary', async () => {
    const { bulk } = await create(file('MSG-1', [{ minor: 10_00n, text: 'Invoice 7' }, { minor: 20_01n }]))
    await work()
    const items = await service.bulkPayouts.items(partner.partnerId, bulk.id, undefined)
    assert.deepEqual(
      items.map(({ status, amount, reference, beneficiaryId }) => [status, amount, reference, beneficiaryId]),
      [
        ['Accepted', 10_00n, 'Invoice 7', partner.beneficiary.id],
        ['Accepted', 20_01n, null, partner.beneficiary.id],
      ],
    )
    assert.equal((await balanceOf(service, partner.partnerId)).reserved, 30_01n)
  })

  test('the same message is paid once under any key, and another amount under its message id is refused', async () => {
    await create(file('MSG-1', [{ minor: 10_00n }]))
    await create(file('MSG-1', [{ minor: 10_00n }]))
    const { bulk } = await create(file('MSG-1', [{ minor: 11_00n }]))
    await work()
    assert.equal((await balanceOf(service, partner.partnerId)).reserved, 10_00n)
    const [item] = await service.bulkPayouts.items(partner.partnerId, bulk.id, undefined)
    assert.equal(item?.problemCode, 'idempotency_key_reused')
  })

  test("without a customer the file pays the partner's own beneficiaries; an unknown account is refused", async () => {
    const own = await create(file('MSG-1', [{ minor: 1_00n }]), { customerId: undefined })
    await work()
    const [item] = await service.bulkPayouts.items(partner.partnerId, own.bulk.id, undefined)
    assert.equal(item?.beneficiaryId, partner.ownBeneficiary.id)
    await assert.rejects(
      create(file('MSG-2', [{ minor: 1_00n, iban: 'FR1420041010050500013M02606' }])),
      refused(/payment 1 \(E2E-1\): no beneficiary has this account/),
    )
  })

  test('if several beneficiaries have the account, the beneficiary with the matching name is paid', async () => {
    const account = { iban: 'DE89370400440532013000', currency: 'EUR', customerId: partner.customer.id }
    const second = await service.beneficiaries.create(partner.partnerId, { ...account, name: 'Joan Clarke' })
    const { bulk } = await create(file('MSG-1', [{ minor: 1_00n, creditor: { name: 'Joan Clarke' } }]))
    const [item] = await service.bulkPayouts.items(partner.partnerId, bulk.id, undefined)
    assert.equal(item?.beneficiaryId, second.id)
    await assert.rejects(
      create(file('MSG-2', [{ minor: 1_00n, creditor: { name: 'Ada Lovelace' } }])),
      refused(/2 beneficiaries have this account, and none of them this name/),
    )
  })

  test('a request that payouts do not support is refused, not dropped', async () => {
    const tomorrow = new Date(service.clock.now().getTime() + dayMs).toISOString().slice(0, 10)
    const payment = { minor: 1_00n }
    await assert.rejects(create(file('M', [payment], { executionDate: tomorrow })), refused(/ReqdExctnDt/))
    await assert.rejects(create(file('M', [{ ...payment, purpose: 'SALA' }])), refused(/a purpose is not carried/))
    await assert.rejects(
      create(file('M', [{ ...payment, ultimateCreditor: { name: 'Ada Lovelace' } }])),
      refused(/ultimate parties/),
    )
  })

  const agent = '<FinInstnId><Nm>Bank</Nm></FinInstnId>'
  const account = '<Id><Othr><Id>1</Id></Othr></Id>'
  const strd = (content: string) => `<RmtInf><Strd>${content}</Strd></RmtInf>`
  /**
   * Elements that CdtTrfTxInf may have in the schemas of .03 and .09 in addition to those of these tests: without effect,
   * or refused.
   */
  const elements: readonly (readonly [xml: string, meaning: 'taken' | 'without effect' | RegExp])[] = [
    ['<PmtTpInf><InstrPrty>HIGH</InstrPrty></PmtTpInf>', 'without effect'],
    ['<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf>', 'without effect'],
    ['<PmtTpInf><LclInstrm><Cd>INST</Cd></LclInstrm></PmtTpInf>', 'without effect'],
    ['<PmtTpInf><CtgyPurp><Cd>SALA</Cd></CtgyPurp></PmtTpInf>', /CtgyPurp is not carried/],
    ['<XchgRateInf><XchgRate>1.1</XchgRate></XchgRateInf>', /XchgRateInf is not carried/],
    ['<ChrgBr>SLEV</ChrgBr>', 'without effect'],
    ['<ChqInstr><ChqNb>1</ChqNb></ChqInstr>', /ChqInstr is not carried/],
    ['<UltmtDbtr><Nm>Ada</Nm></UltmtDbtr>', /ultimate parties/],
    ...['IntrmyAgt1', 'IntrmyAgt2', 'IntrmyAgt3'].flatMap((name) => [
      [`<${name}>${agent}</${name}>`, new RegExp(`${name} is not carried`)] as const,
      [`<${name}Acct>${account}</${name}Acct>`, new RegExp(`${name}Acct is not carried`)] as const,
    ]),
    [`<CdtrAgt>${agent}</CdtrAgt>`, 'without effect'],
    [`<CdtrAgtAcct>${account}</CdtrAgtAcct>`, /CdtrAgtAcct is not carried/],
    ['<UltmtCdtr><Nm>Ada</Nm></UltmtCdtr>', /ultimate parties/],
    ['<InstrForCdtrAgt><InstrInf>Call</InstrInf></InstrForCdtrAgt>', /InstrForCdtrAgt is not carried/],
    ['<InstrForDbtrAgt>Call</InstrForDbtrAgt>', /InstrForDbtrAgt is not carried/],
    ['<Purp><Cd>SALA</Cd></Purp>', /a purpose is not carried/],
    ['<RgltryRptg><Dtls><Inf>X</Inf></Dtls></RgltryRptg>', /RgltryRptg is not carried/],
    ['<Tax><RefNb>1</RefNb></Tax>', /Tax is not carried/],
    ['<RltdRmtInf><RmtId>1</RmtId></RltdRmtInf>', /RltdRmtInf is not carried/],
    ['<SplmtryData><Envlp>X</Envlp></SplmtryData>', 'without effect'],
    ['<RmtInf><Ustrd>Invoice 7</Ustrd></RmtInf>', 'taken'],
    [strd('<CdtrRefInf><Ref>Invoice 7</Ref></CdtrRefInf>'), 'taken'],
    [strd('<RfrdDocInf><Nb>7</Nb></RfrdDocInf>'), /RmtInf has more than/],
    ['<RmtInf><Ustrd>A</Ustrd><Strd><CdtrRefInf><Ref>7</Ref></CdtrRefInf></Strd></RmtInf>', /RmtInf has more than/],
  ]
  const version3 = (xml: string) =>
    xml
      .replace('pain.001.001.09', 'pain.001.001.03')
      .replace(/<ReqdExctnDt><Dt>(.*?)<\/Dt>/, '<ReqdExctnDt>$1')
      .replaceAll('BICFI', 'BIC')

  test('each element of a payment is used, ignored or refused, in both versions', async () => {
    let files = 0
    for (const [xml, meaning] of elements)
      for (const inVersion of [(text: string) => text, version3]) {
        const plain = file(`EL-${(files += 1)}`, [{ minor: 1_00n }])
        const document = inVersion(plain.replace('</CdtTrfTxInf>', `${xml}</CdtTrfTxInf>`))
        if (meaning instanceof RegExp) {
          await assert.rejects(create(document), refused(meaning), xml)
          continue
        }
        const { bulk } = await create(document)
        const [item] = await service.bulkPayouts.items(partner.partnerId, bulk.id, undefined)
        assert.deepEqual([item?.reference, item?.amount], [meaning === 'taken' ? 'Invoice 7' : null, 1_00n], xml)
      }
    assert.equal(files, 2 * elements.length)
  })

  /** The first payment of a file, to an account without an IBAN. */
  const toDomestic = (text: string, system: string, member: string, number: string, type = '') =>
    text
      .replace(/<CdtrAcct>.*?<\/CdtrAcct>/, `<CdtrAcct><Id><Othr><Id>${number}</Id></Othr></Id>${type}</CdtrAcct>`)
      .replace(
        /<Cdtr>/,
        `<CdtrAgt><FinInstnId><ClrSysMmbId><ClrSysId><Cd>${system}</Cd></ClrSysId><MmbId>${member}</MmbId></ClrSysMmbId></FinInstnId></CdtrAgt><Cdtr>`,
      )
  const typeXml = (code: string) => `<Tp><Cd>${code}</Cd></Tp>`

  test('a file may name payees by sort code or routing number, and must not contradict their account type', async () => {
    const { partnerId, customer } = partner
    const add = (fields: object) =>
      service.beneficiaries.create(partnerId, {
        name: 'Grace Hopper',
        customerId: customer.id,
        currency: 'USD',
        ...fields,
      })
    const british = await add({ currency: 'GBP', sortCode: '20-00-00', accountNumber: '5779911' })
    const savings = await add({ routingNumber: '021000021', accountNumber: '123 456 789', accountType: 'Savings' })
    const untyped = await add({ routingNumber: '021000021', accountNumber: '5' })
    const paid = async (currency: 'GBP' | 'USD', ...account: readonly [string, string, string, string?]) => {
      const document = toDomestic(file(newId(), [{ minor: 1_00n }]).replaceAll('EUR', currency), ...account)
      const { bulk } = await create(document)
      return (await service.bulkPayouts.items(partnerId, bulk.id, undefined)).map(({ beneficiaryId }) => beneficiaryId)
    }
    assert.deepEqual(await paid('GBP', 'GBDSC', '200000', '05779911'), [british.id])
    assert.deepEqual(await paid('USD', 'USABA', '021000021', '123456789'), [savings.id])
    assert.deepEqual(await paid('USD', 'USABA', '021000021', '123456789', typeXml('SVGS')), [savings.id])
    assert.deepEqual(await paid('USD', 'USABA', '021000021', '5'), [untyped.id])
    await assert.rejects(
      paid('USD', 'USABA', '021000021', '123456789', typeXml('CACC')),
      refused(/CACC, and the beneficiary has SVGS/),
    )
    await assert.rejects(paid('USD', 'USABA', '021000021', '5', typeXml('CACC')), refused(/the beneficiary has none/))
    await assert.rejects(paid('USD', 'USABA', '021000021', '6'), refused(/no beneficiary has this account/))
    await assert.rejects(paid('USD', 'USABA', '021000022', '5'), refused(/nor a number with a sort code/))
    await assert.rejects(paid('USD', 'CHBCC', '021000021', '5'), refused(/nor a number with a sort code/))
  })

  test('the payout and its transaction have the EndToEndId of the payment, and NOTPROVIDED means no EndToEndId', async () => {
    const payments = [
      { minor: 1_00n, endToEndId: "Rent/11 (A) 'x',+?:.-" },
      { minor: 2_00n, endToEndId: 'NOTPROVIDED' },
    ]
    const { bulk } = await create(file('MSG-E', payments))
    await work()
    const items = await service.bulkPayouts.items(partner.partnerId, bulk.id, undefined)
    const found = []
    for (const { payoutId, transactionReference } of items) {
      const payout = toPayoutRecord(await service.payouts.get(partner.partnerId, payoutId ?? ''), undefined)
      const { row } = await service.transactions.get(partner.partnerId, transactionReference ?? '')
      assert.equal(row.endToEndId, payout.endToEndId)
      found.push(payout.endToEndId)
    }
    assert.deepEqual([items[0]?.endToEndId, items[1]?.endToEndId], ["Rent/11 (A) 'x',+?:.-", null])
    assert.equal(found[0], "Rent/11 (A) 'x',+?:.-")
    assert.match(found[1] ?? '', /^[0-9a-f]{32}$/)
    const findings = await service.db.transaction((tx) => payoutFindings(tx, partner.partnerId, 10))
    assert.deepEqual(findings, [])
  })

  test('the same message with another EndToEndId is refused as another request', async () => {
    const payment = { minor: 10_00n, endToEndId: 'A-1' }
    await create(file('MSG-1', [payment]), { idempotencyKey: 'file-1' })
    const again = await create(file('MSG-1', [payment]), { idempotencyKey: 'file-1' })
    assert.equal(again.replayed, true)
    const other = file('MSG-1', [{ ...payment, endToEndId: 'A-2' }])
    await assert.rejects(create(other, { idempotencyKey: 'file-1' }), { code: 'idempotency_key_reused' })
    const { bulk } = await create(other)
    await work()
    const [item] = await service.bulkPayouts.items(partner.partnerId, bulk.id, undefined)
    assert.equal(item?.problemCode, 'idempotency_key_reused')
  })

  test('an EndToEndId that SEPA banks would change is refused', async () => {
    for (const endToEndId of ['Müller', 'A_1', '/A', 'A/', 'A//B', 'A  B'])
      await assert.rejects(
        create(file('M', [{ minor: 1_00n }, { minor: 1_00n, endToEndId }])),
        refused(/^payment 2 \(.*\): EndToEndId must have at most 35 characters/),
        endToEndId,
      )
    await assert.rejects(create(file('M', [{ minor: 1_00n, endToEndId: 'A'.repeat(36) }])), refused(/35/))
  })

  test('the EndToEndId of an item is erased with its text, and the payout keeps its own', async () => {
    const { bulk } = await create(file('MSG-1', [{ minor: 10_00n, text: 'Invoice 7', endToEndId: 'A-1' }]))
    await work()
    const { partnerId } = partner
    const endedBefore = new Date(service.clock.now().getTime() + dayMs)
    const page = { partnerId, afterId: nilId, beforeId: newId(), endedBefore, rowsMax: 10 }
    await service.db.transaction((tx) => eraseExpiredRecords(tx, keptBulks, page))
    const [item] = await service.bulkPayouts.items(partnerId, bulk.id, undefined)
    assert.deepEqual([item?.reference, item?.endToEndId], [null, null])
    assert.equal((await service.payouts.get(partnerId, item?.payoutId ?? '')).partnerEndToEndId, 'A-1')
  })

  test('a text that is not a pain.001 is refused with its line', async () => {
    await assert.rejects(create('<?xml version="1.0"?><Document/>'), refused(/line 1/))
    await assert.rejects(create('not xml'), refused(/line 1/))
    await assert.rejects(create(file('M', [{ minor: 1_00n }]).slice(0, -40)), refused(/line \d+/))
    await assert.rejects(create('<!DOCTYPE a [<!ENTITY b "c">]><Document>&b;</Document>'), refused(/line 1/))
    await assert.rejects(
      create(
        file(
          'M',
          Array.from({ length: 1001 }, () => ({ minor: 1n })),
        ),
      ),
      refused(/has 1001 payments/),
    )
    assert.equal((await service.bulkPayouts.list(partner.partnerId, {})).data.length, 0)
  })

  test('the address in a file completes a payee without one, but another place, or only address lines, are refused', async () => {
    const late = await createTestService({ url: service.url, now: new Date('2026-11-30T10:00:00Z') })
    try {
      const { partnerId, caller, customer, beneficiary } = partner
      const berlin = { street: 'Königstraße', buildingNumber: '1', postCode: '10115', town: 'Berlin', country: 'DE' }
      const given = {
        streetName: 'Königstraße',
        buildingNumber: '1',
        postalCode: '10115',
        city: 'Berlin',
        country: 'DE',
      }
      const send = (messageId: string, address: object, by = caller) =>
        late.bulkPayouts.createFromFile(
          by,
          {
            ...{ mode: 'AllOrNothing', idempotencyKey: newId(), customerId: customer.id },
            document: pain001Text(messageId, [{ minor: 1_00n, creditor: { name: 'Grace Hopper', address } }], {
              createdAt: late.clock.now(),
            }),
          },
          ip,
        )
      const addressNow = async () => (await late.beneficiaries.get(partnerId, beneficiary.id)).address
      await send('ADR-1', berlin, { ...caller, permissions: ['payouts:write'] })
      assert.equal(await addressNow(), null)
      await send('ADR-2', { country: 'ZZ', town: 'Berlin' })
      assert.equal(await addressNow(), null)
      await send('ADR-3', berlin)
      assert.deepEqual(await addressNow(), given)
      // A hybrid address of the same place, as another program writes it.
      await send('ADR-4', { town: 'BERLIN', country: 'DE', lines: ['Koenigstr. 1'] })
      assert.deepEqual(await addressNow(), given)
      await assert.rejects(
        send('ADR-5', { ...berlin, town: 'Bonn' }),
        refused(/PstlAdr of Cdtr is in BONN, DE, and the beneficiary's address in BERLIN, DE/),
      )
      await assert.rejects(
        send('ADR-6', { country: 'DE', lines: ['Königstraße 1', '10115 Berlin'] }),
        refused(/PstlAdr of Cdtr has lines without TwnNm and Ctry, which banks refuse from 2026-11-15 on/),
      )
      // Before the rule such lines have no effect, as always.
      await create(
        file('ADR-7', [{ minor: 1_00n, creditor: { name: 'Grace Hopper', address: { lines: ['Berlin'] } } }]),
      )
    } finally {
      await late.close()
    }
  })
})
