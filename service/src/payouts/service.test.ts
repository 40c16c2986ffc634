/** Payouts on a real database: verbs, available money, due payouts, retries, types of accounts. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { createPayoutRightCheck } from '../people/users/index.ts'
import { createAcceptances } from '../fx/index.ts'
import { addPartner, balanceOf, ip, pay, type TestPartner } from '../../../test/support/composition.ts'
import { Refusal, Unreachable } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { createPayouts } from './index.ts'
import { addTrader, convert, quote } from '../../../test/support/fx.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { refused } from '../../../test/support/refusals.ts'
import { submitDuePayouts } from '../banks/settlement/index.ts'

suite('operations', async () => {
  const service = await useModules()
  const partner = await addPartner(service, 1_000_000n)

  const body = (fields: object = {}) => ({
    amount: rawNumber('10.00'),
    currency: 'EUR',
    beneficiaryId: partner.beneficiary.id,
    idempotencyKey: newId(),
    ...fields,
  })

  test('an accepted payout reserves its money, copies its creditor and has a transaction under its reference', async () => {
    const { payout, replayed } = await service.payouts.create(partner.caller, body({ reference: 'Invoice 7' }), ip)
    assert.deepEqual([payout.status, payout.reference, replayed], ['Pending', 'Invoice 7', false])
    assert.deepEqual([payout.creditorName, payout.creditorAccount], ['Grace Hopper', partner.beneficiary.iban])
    assert.equal((await balanceOf(service, partner.partnerId)).reserved, 1000n)
    const { row, timeline } = await service.transactions.get(partner.partnerId, 'Invoice 7')
    assert.deepEqual([row.type, row.status, row.rail], ['PartnerCustomerWithdraw', 'Pending', 'Sepa'])
    assert.deepEqual(
      timeline.map(({ step }) => step),
      ['Created', 'Reserved'],
    )
  })

  test('a reference that is in use is still sent to the beneficiary, and the transaction gets another reference', async () => {
    await pay(service, partner, '1.00', { reference: 'Rent' })
    const { payout } = await pay(service, partner, '1.00', { reference: 'Rent' })
    assert.match(payout.reference, /^txn_/)
    assert.equal(payout.remittance, 'Rent')
    const both = [payout.reference, 'Rent']
    assert.equal((await service.transactions.get(partner.partnerId, payout.reference)).row.userReference, 'Rent')
    const { data } = await service.transactions.list(partner.partnerId, { userReference: 'Rent' })
    assert.deepEqual(
      data.map(({ row }) => row.reference),
      both,
    )
    const payouts = async (reference: string) =>
      (await service.payouts.list(partner.partnerId, { reference })).data.map((row) => row.reference)
    assert.deepEqual([await payouts('Rent'), await payouts(payout.reference)], [both, [payout.reference]])
  })

  test('each refusal points to its field and writes nothing', async () => {
    const other = await addPartner(service, 1000n)
    const pounds = await service.beneficiaries.create(partner.partnerId, {
      name: 'Joan',
      iban: 'GB29NWBK60161331926819',
      currency: 'GBP',
    })
    const wallet = await service.beneficiaries.create(partner.partnerId, {
      name: 'Ada',
      walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
      currency: 'USDC',
    })
    const balance = await balanceOf(service, partner.partnerId)
    const count = async () => (await service.transactions.list(partner.partnerId, { limit: '100' })).data.length
    const before = await count()
    const cases: readonly { readonly fields: object; readonly code: string; readonly pointer?: string }[] = [
      { fields: { amount: rawNumber('0.001') }, code: 'validation_failed', pointer: '/amount' },
      { fields: { amount: 0 }, code: 'validation_failed', pointer: '/amount' },
      { fields: { currency: 'XXX' }, code: 'validation_failed', pointer: '/currency' },
      { fields: { currency: 'JPY' }, code: 'currency_not_supported', pointer: '/currency' },
      { fields: { beneficiaryId: wallet.id, currency: 'USDC' }, code: 'currency_not_supported', pointer: '/currency' },
      { fields: { beneficiaryId: newId() }, code: 'not_found', pointer: '/beneficiaryId' },
      { fields: { beneficiaryId: other.beneficiary.id }, code: 'not_found', pointer: '/beneficiaryId' },
      { fields: { beneficiaryId: pounds.id }, code: 'beneficiary_currency_mismatch', pointer: '/currency' },
      { fields: { beneficiaryId: pounds.id, currency: 'GBP' }, code: 'insufficient_funds' },
      { fields: { amount: rawNumber('10000000') }, code: 'insufficient_funds' },
    ]
    for (const { fields, code, pointer } of cases)
      await assert.rejects(service.payouts.create(partner.caller, body(fields), ip), refused(code, pointer), code)
    assert.deepEqual(await balanceOf(service, partner.partnerId), balance)
    assert.equal(await count(), before)
  })

  test('without a bank connector every payout is refused', async () => {
    const { db, clock, cursors, ledger, eventOutbox, customers, beneficiaries, transactions } = service
    const { screening, payoutLife: life, rates, facts } = service
    const deps = {
      db,
      clock,
      screening,
      life,
      rates,
      facts,
      cursors,
      ledger,
      eventOutbox,
      customers,
      beneficiaries,
      transactions,
    }
    const payouts = createPayouts({
      ...deps,
      access: service.access,
      mayPay: createPayoutRightCheck(service.access, screening),
      quotes: createAcceptances(service),
      chooseConnector: () => undefined,
      ownIbans: service.accounts.ownIbans,
      proofsMissing: service.wallets.ownership.findMissing,
      connectorOf: () => undefined,
      readPayers: async () => [],
      duplicateDays: 14,
      scheduledPayouts: async () => [],
    })
    await assert.rejects(payouts.create(partner.caller, body(), ip), refused('currency_not_supported'))
  })

  test('a key replays `100` for `100.00`, and any spelling of the beneficiary id', async () => {
    const { idempotencyKey, ...rest } = body({ amount: 100 })
    const first = await service.payouts.create(partner.caller, { ...rest, idempotencyKey }, ip)
    const again = {
      ...rest,
      idempotencyKey,
      amount: rawNumber('100.00'),
      beneficiaryId: rest.beneficiaryId.toUpperCase(),
    }
    const second = await service.payouts.create(partner.caller, again, ip)
    assert.deepEqual([second.payout.id, second.replayed], [first.payout.id, true])
  })

  test('a removed beneficiary gets no new payout, and an earlier key still replays', async () => {
    const account = { iban: 'DE89370400440532013000', currency: 'EUR' }
    const { id } = await service.beneficiaries.create(partner.partnerId, { ...account, name: 'Short' })
    const request = body({ beneficiaryId: id })
    const { payout } = await service.payouts.create(partner.caller, request, ip)
    await service.beneficiaries.remove(partner.partnerId, id)
    assert.equal((await service.payouts.create(partner.caller, request, ip)).payout.id, payout.id)
    await assert.rejects(service.payouts.create(partner.caller, body({ beneficiaryId: id }), ip), refused('not_found'))
  })
})

suite('available money', async () => {
  const service = await useModules()

  type Detail = string | null | undefined
  const detailOf = async (asked: Promise<unknown>): Promise<string> => {
    const refusal = await asked.then(
      () => assert.fail('the payout is refused'),
      (error: unknown) => error,
    )
    assert.ok(refusal instanceof Refusal && refusal.code === 'insufficient_funds', String(refusal))
    return refusal.detail
  }
  const bodyOf = ({ ownBeneficiary }: TestPartner) => ({
    amount: rawNumber('1000.01'),
    currency: 'EUR',
    beneficiaryId: ownBeneficiary.id,
    idempotencyKey: newId(),
  })
  async function fxBodyOf(partner: TestPartner) {
    const payee = { iban: 'DE89370400440532013000', currency: 'USD', name: 'Ada Lovelace' } as const
    const { id: beneficiaryId } = await service.beneficiaries.create(partner.partnerId, payee)
    const { row } = await quote(service, partner, { sellAmount: '1000.01' })
    return { quoteId: row.id, beneficiaryId, idempotencyKey: newId() }
  }

  const pooled = ' The whole balance pays, the money of all customers and yours: it is pooled.'
  /** The detail of the rule `funds`, without the sentence that says whose money pays. */
  const fundsOf = (verdicts: readonly { readonly rule: string; readonly detail?: string }[]): Detail => {
    const detail = verdicts.find(({ rule }) => rule === 'funds')?.detail ?? ''
    assert.ok(detail.endsWith(pooled), detail)
    return detail.slice(0, -pooled.length)
  }

  /** Each asks for 1,000.01 of 1,000.00. */
  const asked: Readonly<Record<string, (partner: TestPartner) => Promise<Detail>>> = {
    'a fiat payout': (partner) => detailOf(service.payouts.create(partner.caller, bodyOf(partner), ip)),
    'an fx payout': async (partner) => detailOf(service.payouts.createFx(partner.caller, await fxBodyOf(partner), ip)),
    'a conversion': async (partner) => detailOf(convert(service, partner, (await fxBodyOf(partner)).quoteId)),
    'a simulated withdrawal': ({ caller, customer }) => {
      const request = { amount: 1_000_01n, currency: 'EUR', outcome: 'completed', idempotencyKey: null } as const
      return detailOf(service.payouts.simulate(caller, { customerRef: customer.id, ...request }, ip))
    },
    'a preview': async (partner) => {
      const { verdicts } = await service.payouts.preview(partner.caller, bodyOf(partner), ip)
      return fundsOf(verdicts)
    },
    'a preview of an fx payout': async (partner) => {
      const { verdicts } = await service.payouts.previewFx(partner.caller, await fxBodyOf(partner), ip)
      return fundsOf(verdicts)
    },
  }

  const short = 'The available EUR balance is smaller than the amount.'
  for (const [name, ask] of Object.entries(asked))
    test(`${name}: only a caller that may read balances sees the available amount`, async () => {
      const partner = await addTrader(service)
      assert.equal(await ask(partner), `${short} 1000.00 EUR is available.`)
      const permissions = partner.caller.permissions.filter((permission) => permission !== 'accounts:read')
      assert.equal(await ask({ ...partner, caller: { ...partner.caller, permissions } }), short)
    })

  /** Every reader of payouts reads the stored result, whatever else it may read. */
  test('the stored result of a bulk does not contain the available amount', async () => {
    const partner = await addTrader(service)
    const body = { mode: 'BestEffort' as const, idempotencyKey: newId(), payouts: [bodyOf(partner)] }
    const { bulk } = await service.bulkPayouts.create(partner.caller, body, ip)
    while ((await service.bulkPayouts.step()) > 0);
    const [item] = await service.bulkPayouts.items(partner.partnerId, bulk.id, undefined)
    assert.deepEqual([item?.problemCode, item?.problemDetail], ['insufficient_funds', short])
  })

  test('the refusals of concurrent payouts state the amount that the accepted payouts left', async () => {
    const partner = await addTrader(service)
    const answers = await Promise.allSettled([1, 2, 3].map(() => pay(service, partner, '600.00')))
    const refusals = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []))
    const details = refusals.map((refusal) => (refusal instanceof Refusal ? refusal.detail : refusal))
    assert.deepEqual(
      details,
      Array.from({ length: 2 }, () => `${short} 400.00 EUR is available.`),
    )
  })
})

suite('due payouts', async () => {
  const service = await useModules()

  /** The due payouts of a new partner, as a worker reads them. */
  async function readDue(payouts: number) {
    const partner = await addPartner(service, 10_000n)
    for (let made = 0; made < payouts; made += 1) await pay(service, partner, '1.00')
    const { partnerId } = partner
    const read = () => service.payoutLife.due('sandbox', [partnerId], 10)
    return { partnerId, read, due: await read() }
  }

  test('if two workers read the same due payouts, only one of them begins each payout', async () => {
    const { partnerId, read, due } = await readDue(5)
    assert.equal(due.length, 5)
    const begin = () => {
      const leaseId = newId()
      return Promise.all(due.map((payout) => service.payoutLife.beginDue(payout, leaseId)))
    }
    const [ones, others] = await Promise.all([begin(), begin()])
    for (const [index, { id, reference }] of due.entries()) {
      const claims = [ones[index], others[index]].filter((claim) => claim !== undefined)
      assert.equal(claims.length, 1)
      const { status, sendAttempts, leaseId } = await service.payouts.get(partnerId, id)
      assert.deepEqual(
        { status, sendAttempts, leaseId },
        { status: 'Processing', sendAttempts: 1, leaseId: claims[0]?.leaseId },
      )
      const { timeline } = await service.transactions.get(partnerId, reference)
      assert.deepEqual(
        timeline.map(({ step }) => step),
        ['Created', 'Reserved', 'Accepted'],
      )
    }
    assert.deepEqual(await read(), [])
  })

  test('a payout that was cancelled or claimed after the read does not begin', async () => {
    const { partnerId, due } = await readDue(2)
    const [cancelled, claimed] = due
    assert.ok(cancelled && claimed)
    await service.payouts.cancel(partnerId, cancelled.id)
    const claims = await service.payoutLife.claimAgain('sandbox', due)
    assert.deepEqual(
      claims.map(({ id }) => id),
      [claimed.id],
    )
    for (const payout of due) assert.equal(await service.payoutLife.beginDue(payout, newId()), undefined)
    assert.equal((await service.payouts.get(partnerId, cancelled.id)).status, 'Cancelled')
    const { status, leaseId, sendAttempts } = await service.payouts.get(partnerId, claimed.id)
    assert.deepEqual(
      { status, leaseId, sendAttempts },
      { status: 'Pending', leaseId: claims[0]?.leaseId, sendAttempts: 0 },
    )
  })

  test('without due payouts nothing is read or claimed', async () => {
    const { read, due } = await readDue(0)
    assert.deepEqual([due, await read()], [[], []])
    assert.deepEqual(await service.payoutLife.free(due), [])
    assert.deepEqual(await service.payoutLife.claimAgain('sandbox', due), [])
  })
})

suite('retries', async () => {
  /** True if the answers of the bank are lost: the outcome of an instruction that it has is unknown. */
  let isSilent = false
  let instructed = 0
  const lost = () => Promise.reject(new Unreachable('downstream_timeout', 'the bank does not answer'))
  const service = await useModules({
    wrapConnector: (bank) => ({
      ...bank,
      instruct: async (instructions, options) => {
        const outcomes = await bank.instruct(instructions, options)
        instructed += instructions.length
        return isSilent ? lost() : outcomes
      },
      find: (keys, options) => (isSilent ? lost() : bank.find(keys, options)),
    }),
  })
  const partner = await addPartner(service, 1_000_00n)

  const retry = (id: string, partnerId = partner.partnerId) =>
    service.db.transaction((tx) => service.payouts.retry(tx, partnerId, id))
  const read = (id: string) => service.payouts.get(partner.partnerId, id)

  test('two concurrent retries of a payout with an unknown outcome cause one attempt, which only queries the bank', async () => {
    const { payout } = await pay(service, partner, '10.00')
    isSilent = true
    await retry(payout.id)
    await submitDuePayouts(service.settlement)
    const unknown = await read(payout.id)
    assert.deepEqual([unknown.status, unknown.sendAttempts, instructed], ['Processing', 1, 1])
    assert.ok(unknown.dueAt !== null && unknown.dueAt > service.clock.now(), 'the next attempt waits')
    isSilent = false
    await submitDuePayouts(service.settlement)
    assert.equal((await read(payout.id)).status, 'Processing', 'no attempt before its time')
    await Promise.all([retry(payout.id), retry(payout.id)])
    await submitDuePayouts(service.settlement)
    assert.deepEqual([(await read(payout.id)).status, instructed], ['Sent', 1])
  })

  test('a retry is refused during an attempt, in a status without attempts, and for another partner', async () => {
    const { payout } = await pay(service, partner, '11.00')
    await retry(payout.id)
    const [claim] = await service.payoutLife.claim('sandbox', [partner.partnerId], 1)
    assert.equal(claim?.id, payout.id)
    const { dueAt } = await read(payout.id)
    await assert.rejects(retry(payout.id), { detail: /^An attempt is in progress\. Retry after / })
    assert.deepEqual((await read(payout.id)).dueAt, dueAt, 'the lease is not shortened')
    const stranger = await addPartner(service)
    await assert.rejects(retry(payout.id, stranger.partnerId), { code: 'not_found' })
    await assert.rejects(retry(newId()), { code: 'not_found' })
    service.clock.advance(600_000)
    await submitDuePayouts(service.settlement)
    await assert.rejects(retry(payout.id), { detail: 'The payout is Sent and has no further attempt.' })
  })
})

suite('account types', async () => {
  const service = await useModules()

  test('a payout keeps the account type that its payee had at acceptance', async () => {
    const { partnerId, caller } = await addPartner(service)
    const float = { debit: 'settlement.sandbox', currency: 'USD', amount: 100_00n } as const
    await service.db.transaction((tx) => service.deposits.creditPartner(tx, partnerId, float))
    const account = { name: 'Grace Hopper', currency: 'USD', routingNumber: '021000021' }
    for (const accountType of ['Savings', 'Checking', undefined] as const) {
      const number = { accountNumber: `12345${accountType?.length ?? ''}` }
      const payee = await service.beneficiaries.create(partnerId, {
        ...{ ...account, ...number },
        ...(accountType === undefined ? {} : { accountType }),
      })
      const body = {
        amount: rawNumber('1.00'),
        currency: 'USD',
        beneficiaryId: payee.id,
        idempotencyKey: newId(),
      } as const
      const { verdicts } = await service.payouts.preview(caller, body, ip)
      assert.ok(verdicts.every(({ verdict }) => verdict !== 'failed'))
      const { payout } = await service.payouts.create(caller, body, ip)
      assert.equal(payout.creditorAccountType, accountType ?? null)
      assert.equal((await service.payouts.get(partnerId, payout.id)).creditorAccountType, accountType ?? null)
    }
  })
})
