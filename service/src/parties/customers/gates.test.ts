/** Gates on a real database: what customers may do in each state of verification. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Capability, rawNumber } from '@partner-payments/wire'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  ip,
  pay,
  stepMsDefault,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { amountText, newId, present } from '../../kernel/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../banks/settlement/index.ts'
import { sql, type Tx } from '../../postgres/index.ts'
import { addTrader, convert, quote, quoteBody } from '../../../../test/support/fx.ts'
import { until } from '../../../../test/support/until.ts'
import type { AccountState } from '../../ledger/index.ts'
const service = await createTestService()
/** The same database with the settings of production. */
const strict = await createTestService({
  url: service.url,
  now: service.clock.now(),
  settings: { KYC_GATES: 'strict' },
})
await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
after(async () => {
  await strict.close()
  await service.close()
})

const complete = {
  fullName: 'Ada Lovelace',
  dateOfBirth: '1990-12-10',
  citizenshipCountryCode: 'GB',
  addressLine1: '12 St James Square',
  city: 'London',
}
const verified = ({ partnerId, customer }: TestPartner) =>
  service.customers.update(partnerId, customer.id, { kyc: complete })
const close = ({ partnerId }: TestPartner, allowed: readonly Capability[] = []) =>
  service.db.transaction((tx) => service.customers.gates.set(tx, { partnerId, state: 'Incomplete', allowed }))
const verdicts = async ({ partnerId, customer }: TestPartner, by = service) => {
  const { capabilities, fields, verificationState } = await by.customers.capabilities(partnerId, customer.serviceId)
  return {
    state: verificationState,
    can: capabilities.filter(({ reasons }) => reasons.length === 0).map(({ name }) => name),
    reasons: [...new Set(capabilities.flatMap(({ reasons }) => reasons))],
    fields: fields.map(({ field, code }) => `${field} ${code}`),
  }
}
const all: readonly Capability[] = ['OpenAccount', 'Receive', 'Pay', 'Convert']
const missing = ['addressLine1 field_required', 'city field_required', 'dateOfBirth field_required']

test('by default a sandbox allows everything to every customer, and a strict installation only to complete ones', async () => {
  const partner = await addPartner(service)
  const incomplete = { state: 'Incomplete', fields: missing }
  assert.deepEqual(await verdicts(partner), { ...incomplete, can: all, reasons: [] })
  assert.deepEqual(await verdicts(partner, strict), { ...incomplete, can: [], reasons: ['verification_incomplete'] })
  await verified(partner)
  const done = { state: 'Complete', can: all, reasons: [], fields: [] }
  assert.deepEqual([await verdicts(partner), await verdicts(partner, strict)], [done, done])
  await service.customers.update(partner.partnerId, partner.customer.id, { kyc: { lei: 'X' } })
  assert.deepEqual(await verdicts(partner, strict), {
    ...{ state: 'Invalid', can: [], reasons: ['verification_invalid'], fields: ['lei lei_format'] },
  })
  await assert.rejects(service.customers.capabilities(newId(), partner.customer.id), { code: 'not_found' })
})

test("a partner's gate replaces the default of its state, stricter or not, until it is removed", async () => {
  const [partner, other] = [await addPartner(service), await addPartner(service)]
  await close(partner, ['Receive'])
  assert.deepEqual((await verdicts(partner)).can, ['Receive'])
  assert.deepEqual((await verdicts(partner, strict)).can, ['Receive'])
  assert.deepEqual((await verdicts(other)).can, all)
  const { gates } = service.customers
  assert.deepEqual(await gates.list(service.db, partner.partnerId), [
    { verificationState: 'Complete', allowed: all, isDefault: true },
    { verificationState: 'Incomplete', allowed: ['Receive'], isDefault: false },
    { verificationState: 'Invalid', allowed: all, isDefault: true },
  ])
  const remove = () => service.db.transaction((tx) => gates.remove(tx, partner.partnerId, 'Incomplete'))
  assert.deepEqual((await remove()).allowed, all)
  await assert.rejects(remove(), { code: 'not_found' })
})

test('a payout and its preview for an unverified customer are refused until its KYC is complete', async () => {
  const partner = await addPartner(service, 100_00n)
  await close(partner)
  const detail =
    'A customer whose verification is Incomplete must not make payouts. Read the capabilities of the customer, and complete its KYC.'
  const errors = [
    {
      pointer: '/beneficiaryId',
      code: 'invalid_value',
      message: 'a customer whose verification is Incomplete must not make payouts',
    },
  ]
  await assert.rejects(pay(service, partner, '10.00'), { code: 'customer_not_verified', detail, errors })
  const request = { amount: rawNumber('10.00'), currency: 'EUR', beneficiaryId: partner.beneficiary.id } as const
  const preview = async () => {
    const { verdicts: judged } = await service.payouts.preview(
      partner.caller,
      { ...request, idempotencyKey: newId() },
      ip,
    )
    return judged.find(({ rule }) => rule === 'customer')
  }
  assert.equal((await preview())?.code, 'customer_not_verified')
  // The partner's own payouts do not have a customer.
  await pay(service, partner, '10.00', { beneficiaryId: partner.ownBeneficiary.id })
  await verified(partner)
  assert.equal((await preview())?.verdict, 'passed')
  await pay(service, partner, '10.00')
})

test('new accounts, wallets and checkout sessions are refused, and existing accounts stay open', async () => {
  const [early, late] = [await addPartner(service), await addPartner(service)]
  const before = await service.accounts.create(early.partnerId, early.customer.id)
  await Promise.all([early, late].map((partner) => close(partner)))
  assert.deepEqual(await service.accounts.create(early.partnerId, early.customer.id), before)
  const refused = (capability: string) => ({ code: 'customer_not_verified', message: new RegExp(capability) })
  const { partnerId, customer, caller } = late
  await assert.rejects(service.accounts.create(partnerId, customer.id), { code: 'customer_not_verified' })
  await assert.rejects(service.wallets.create(partnerId, { customerId: customer.id, currency: 'EURC' }), {
    ...{
      code: 'customer_not_verified',
      errors: [
        {
          pointer: '/customerId',
          code: 'invalid_value',
          message: 'a customer whose verification is Incomplete must not open an account',
        },
      ],
    },
  })
  const session = {
    ...{ amount: rawNumber('10.00'), currency: 'EUR', customerId: customer.id, idempotencyKey: newId() },
    ...{ returnUrl: 'https://shop.example/back', paymentCountryCode: 'DE' },
  } as const
  await assert.rejects(service.checkout.create(caller, session), refused('receive money'))
  await verified(late)
  assert.equal((await service.accounts.create(partnerId, customer.id)).ibans.length > 0, true)
})

/** Lets the sandbox bank credit 5.00 to the customer's IBAN. */
function send(tx: Tx, iban: string): void {
  const debtor = {
    account: 'FR7630006000011234567890189',
    bic: 'AGRIFRPP',
    name: 'Payer',
    countryCode: 'FR',
    address: null,
  }
  const money = { currency: 'EUR', amount: 5_00n } as const
  const credit = { account: iban, money, debtor, remittance: 'Rent', endToEndId: 'E2E-1' }
  service.bank.sendCredit(tx, operatorPartnerId, newId(), credit)
}

/** Lets the sandbox bank credit money, and applies its reports. */
async function credited(iban: string): Promise<void> {
  await service.db.transaction(async (tx) => send(tx, iban))
  service.clock.advance(stepMsDefault)
  strict.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
}

test('money for a customer that may not receive it is held in suspense with a case until two people credit it', async () => {
  const partner = await addPartner(service)
  const { partnerId, customer } = partner
  const iban = (await service.accounts.create(partnerId, customer.id)).ibans[0].iban
  await close(partner, ['OpenAccount', 'Pay'])
  await credited(iban)
  assert.equal((await balanceOf(service, partnerId)).posted, 0n)
  const [found, ...more] = (await service.cases.list(undefined, 1000)).filter((row) => row.partnerId === partnerId)
  assert.deepEqual([found?.kind, found?.booked, more], ['customer_not_verified', 5_00n, []])
  const key = { partnerId, id: present(found, 'a case').id }
  const { decisions, db } = service
  const proposal = {
    ...key,
    action: 'match',
    staff: 'Ada',
    note: 'Proved at the desk.',
    customerId: customer.id,
  } as const
  await db.transaction((tx) => decisions.propose(tx, proposal))
  await db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'Grace' }))
  assert.equal((await balanceOf(service, partnerId)).posted, 5_00n)
  await verified(partner)
  await credited(iban)
  assert.equal((await balanceOf(service, partnerId)).posted, 10_00n)
  await checkLedger(service.db, partnerId)
})

test('a capability lists each reason: the verification and the state of the account', async () => {
  const partner = await addPartner(service)
  const { partnerId, customer } = partner
  const change = (state: AccountState) =>
    service.db.transaction((tx) => service.customers.setAccountState(tx, partnerId, customer.id, state))
  await close(partner, ['OpenAccount', 'Receive'])
  await change('BlockedOutbound')
  const reasons = async () =>
    (await service.customers.capabilities(partnerId, customer.id)).capabilities.map(({ reasons: own }) => own)
  const both = ['verification_incomplete', 'account_blocked']
  assert.deepEqual(await reasons(), [[], [], both, both])
  await change('BlockedInbound')
  assert.deepEqual(await reasons(), [[], ['account_blocked'], ['verification_incomplete'], both])
  await change('Closed')
  assert.deepEqual(await reasons(), [
    ['account_closed'],
    ['account_closed'],
    ['verification_incomplete', 'account_closed'],
    ['verification_incomplete', 'account_closed'],
  ])
})

/** The capabilities of each act in each currency. Tokens also need `Convert`. */
const acts = {
  'opens a wallet': ['OpenAccount', 'Convert'],
  'gets euros': ['Receive'],
  'gets tokens': ['Receive', 'Convert'],
  'pays euros': ['Pay'],
  'pays tokens': ['Pay', 'Convert'],
  'gives euros to another customer': ['Pay'],
  'gives tokens to another customer': ['Pay', 'Convert'],
  converts: ['Convert'],
  'pays by quote': ['Pay', 'Convert'],
} as const satisfies Record<string, readonly Capability[]>

/** Creates a customer with euros and tokens, and its acts, which return whether the gate allowed them. */
async function actor() {
  const partner = await addTrader(service, ['EUR', 'USDC'])
  const { partnerId, customer, caller } = partner
  const customerId = customer.id
  const other = await service.customers.create(partnerId, { email: 'joan@example.com', kyc: complete })
  const gives = (currency: 'EUR' | 'USDC', amount: string, from?: string, to?: string) => {
    const body = { amount: rawNumber(amount), currency, ...(from && { fromCustomerId: from }) }
    return service.accounts.transfer(
      partnerId,
      { ...body, ...(to && { toCustomerId: to }) },
      { caller, ip, requestId: newId() },
    )
  }
  const payeeIn = async (fields: {
    readonly currency: 'USD' | 'USDC'
    readonly iban?: string
    readonly walletAddress?: string
  }) => (await service.beneficiaries.create(partnerId, { name: 'Grace Hopper', customerId, ...fields })).id
  const dollars = await payeeIn({ currency: 'USD', iban: 'DE89370400440532013000' })
  const wallet = await payeeIn({ currency: 'USDC', walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7' })
  const [quoteOf, key] = [
    () => quote(service, partner, { sellAmount: '0.50', customerId }),
    () => ({ idempotencyKey: newId() }),
  ]
  const receives = async (currency: 'EUR' | 'USDC') => {
    const [isStopped] = await service.deposits.cannotReceive(service.db, [{ partnerId, customerId, currency }])
    if (isStopped) throw new Refusal('customer_not_verified', 'The deposit waits with the operator.')
  }
  for (const currency of ['EUR', 'USDC'] as const) await gives(currency, '0.09', undefined, customerId)
  const run: Readonly<Record<keyof typeof acts, () => Promise<unknown>>> = {
    'opens a wallet': () => service.wallets.create(partnerId, { customerId, currency: 'EURC' }),
    'gets euros': () => receives('EUR'),
    'gets tokens': () => receives('USDC'),
    'pays euros': () => pay(service, partner, '0.01'),
    'pays tokens': () =>
      service.payouts.createToken(
        caller,
        { amount: rawNumber('0.01'), currency: 'USDC', beneficiaryId: wallet, ...key() },
        ip,
      ),
    'gives euros to another customer': () => gives('EUR', '0.01', customerId, other.id),
    'gives tokens to another customer': () => gives('USDC', '0.01', customerId, other.id),
    converts: async () => convert(service, partner, (await quoteOf()).row.id),
    'pays by quote': async () =>
      service.payouts.createFx(caller, { quoteId: (await quoteOf()).row.id, beneficiaryId: dollars, ...key() }, ip),
  }
  return { partner, quoteOf, run }
}

test('conversions and tokens have their own capability, which older gates allow', async () => {
  const without = all.map((lost) => all.filter((each) => each !== lost))
  const gates: readonly (readonly Capability[])[] = [...without, ['Convert'], [], all]
  for (const allowed of gates) {
    const { partner, quoteOf, run } = await actor()
    await close(partner, allowed)
    for (const [act, needed] of Object.entries<readonly Capability[]>(acts)) {
      const isAllowed = needed.every((each) => allowed.includes(each))
      const outcome = await run[act as keyof typeof acts]().then(
        () => true,
        (error: unknown) => (error as Refusal).code,
      )
      assert.equal(outcome, isAllowed || 'customer_not_verified', `${act}: ${allowed.join()}`)
    }
    const { refusal } = await quoteOf()
    assert.equal(refusal?.code, allowed.includes('Convert') ? undefined : 'customer_not_verified')
    if (allowed.length > 0) continue
    await service.db.run(sql`
      update customers.gates set converts = null, pays = true, receives = true, opens_accounts = true where partner_id = ${partner.partnerId}`)
    assert.deepEqual((await verdicts(partner)).can, all)
    assert.deepEqual((await service.customers.gates.list(service.db, partner.partnerId))[1]?.allowed, all)
    for (const act of Object.keys(acts)) await run[act as keyof typeof acts]()
  }
  const { run } = await actor()
  assert.ok(await run.converts())
})

/** Sets a maximum balance for a state, and returns the IBAN of a customer. */
async function limited({ partnerId, customer }: TestPartner, state: 'Complete' | 'Incomplete', max: bigint) {
  const gate = { partnerId, state, allowed: all, balancesMax: { EUR: max } } as const
  await service.db.transaction((tx) => service.customers.gates.set(tx, gate))
  return (await service.accounts.create(partnerId, customer.id)).ibans[0].iban
}
const casesOf = async ({ partnerId }: TestPartner) =>
  (await service.cases.list(undefined, 1000)).flatMap((row) => (row.partnerId === partnerId ? [row.kind] : []))

for (const mode of ['pooled', 'segregated'] as const)
  test(`a customer holds at most the maximum balance of its state, and a credit above it opens a case: ${mode}`, async () => {
    const partner = await addPartner(service)
    const { partnerId, customer } = partner
    if (mode === 'segregated') await service.db.transaction((tx) => service.ledger.segregate(tx, partnerId, 'EUR'))
    const iban = await limited(partner, 'Incomplete', 12_00n)
    for (const posted of [5_00n, 10_00n]) {
      await credited(iban)
      assert.equal((await balanceOf(service, partnerId)).posted, posted)
    }
    await credited(iban)
    assert.equal((await balanceOf(service, partnerId)).posted, 10_00n)
    assert.deepEqual(await casesOf(partner), ['customer_not_verified'])
    const { holdUpTo } = await service.customers.capabilities(partnerId, customer.id)
    assert.deepEqual(holdUpTo, [{ currency: 'EUR', max: 12_00n, held: 10_00n }])
    // Outgoing money lowers the balance, and another state has its own maximum.
    await pay(service, partner, '4.00')
    await submitDuePayouts(service.settlement)
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
    await credited(iban)
    assert.equal((await balanceOf(service, partnerId)).posted, 11_00n)
    await verified(partner)
    await credited(iban)
    assert.equal((await balanceOf(service, partnerId)).posted, 16_00n)
    await checkLedger(service.db, partnerId)
  })

test('a credit waits for a concurrent credit of the customer, and both together do not exceed the maximum balance', async () => {
  const partner = await addPartner(service, 10_00n)
  const { partnerId, customer, caller } = partner
  const iban = await limited(partner, 'Incomplete', 12_00n)
  await service.db.transaction(async (tx) => send(tx, iban))
  service.clock.advance(stepMsDefault)
  const given = { toCustomerId: customer.id, currency: 'EUR', amount: rawNumber('10.00') } as const
  let working: Promise<unknown> = Promise.resolve()
  await service.db.transaction(async (tx) => {
    await service.accounts.transfer(partnerId, given, { caller, ip, requestId: 'test' }, tx)
    working = processBankNotifications(service.settlement)
    await until('the credit waits for a lock', async () => {
      const waiting = await service.db.rows(sql`select 1 from pg_locks where not granted`)
      return waiting.length > 0
    })
  })
  await working
  await processBankNotifications(service.settlement)
  const { holdUpTo } = await service.customers.capabilities(partnerId, customer.id)
  assert.deepEqual(holdUpTo, [{ currency: 'EUR', max: 12_00n, held: 10_00n }])
  assert.deepEqual(await casesOf(partner), ['customer_not_verified'])
  await checkLedger(service.db, partnerId)
})

test('a transfer between customers cannot exceed the maximum balance either', async () => {
  const partner = await addPartner(service)
  const { partnerId, customer, caller } = partner
  const iban = await limited(partner, 'Incomplete', 100_00n)
  await credited(iban)
  const rich = await service.customers.create(partnerId, { kyc: complete })
  await limited(partner, 'Complete', 3_00n)
  const body = { fromCustomerId: customer.id, toCustomerId: rich.id, currency: 'EUR' } as const
  const maker = { caller, ip, requestId: 'test' }
  const transfer = (amount: string) =>
    service.accounts.transfer(partnerId, { ...body, amount: rawNumber(amount) }, maker)
  await transfer('2.00')
  await assert.rejects(transfer('1.01'), {
    code: 'balance_limit_exceeded',
    detail:
      "A customer whose verification is Complete holds at most 3.00 EUR. Use a smaller amount, or complete the customer's verification.",
  })
  await transfer('1.00')
})

test('a session that would exceed the maximum balance is refused, and the capabilities show the maximum', async () => {
  const partner = await addPartner(service)
  const { partnerId, customer, caller } = partner
  await credited(await limited(partner, 'Incomplete', 12_00n))
  const [{ max, held } = { max: 0n, held: 0n }] = (await service.customers.capabilities(partnerId, customer.id))
    .holdUpTo
  const session = (amount: string) =>
    service.checkout.create(caller, {
      ...{ amount: rawNumber(amount), currency: 'EUR', customerId: customer.id, idempotencyKey: newId() },
      paymentCountryCode: 'DE',
    })
  const message = 'a customer whose verification is Incomplete holds at most 12.00 EUR'
  await assert.rejects(session(amountText(max - held + 1n, 'EUR')), {
    code: 'balance_limit_exceeded',
    errors: [{ pointer: '/amount', code: 'invalid_value', message }],
  })
  await session(amountText(max - held, 'EUR'))
  await limited(partner, 'Incomplete', 0n)
  await assert.rejects(session('0.01'), { code: 'balance_limit_exceeded' })
})

for (const mode of ['pooled', 'segregated'] as const)
  test(`the maximum balance permits only one of two concurrent conversions, and the other quote records the refusal: ${mode}`, async () => {
    const partner = await addTrader(service, ['USD'])
    const { partnerId, customer, caller } = partner
    if (mode === 'segregated') await service.db.transaction((tx) => service.ledger.segregate(tx, partnerId, 'USD'))
    const maker = { caller, ip, requestId: 'test' }
    const given = { toCustomerId: customer.id, currency: 'USD', amount: rawNumber('100.00') } as const
    await service.accounts.transfer(partnerId, given, maker)
    await limited(partner, 'Incomplete', 12_00n)
    const buy = (buyAmount: string) =>
      service.fx.quote(caller, quoteBody({ sell: 'USD', buy: 'EUR', buyAmount, customerId: customer.id }))
    const above = await buy('12.01')
    assert.equal(above.row.refusal?.code, 'balance_limit_exceeded')
    await assert.rejects(convert(service, partner, above.row.row.id), (error: Refusal) => {
      const { code, errors } = error
      assert.deepEqual([code, errors.map(({ pointer }) => pointer)], ['balance_limit_exceeded', ['/quoteId']])
      return true
    })
    const quotes = [await buy('8.00'), await buy('4.01')]
    assert.deepEqual(
      quotes.map(({ row }) => row.refusal),
      [undefined, undefined],
    )
    // Pooled: in the same batch. Segregated: by two processes.
    const second = mode === 'pooled' ? service : strict
    const done = await Promise.allSettled(
      quotes.map(({ row }, index) => convert(index === 0 ? service : second, partner, row.row.id)),
    )
    assert.deepEqual(done.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    const loser = present(quotes[done.findIndex(({ status }) => status === 'rejected')], 'one was refused').row.row.id
    assert.equal((await service.fx.get(partnerId, loser)).refusal?.code, 'balance_limit_exceeded')
    // The partner's own money does not have a maximum.
    const own = await quote(service, partner, { sell: 'USD', buy: 'EUR', buyAmount: '50.00' })
    await convert(service, partner, own.row.id)
    await checkLedger(service.db, partnerId)
  })

test('a customer holds at most the maximum sum over all currencies, which conversions do not change', async () => {
  const partner = await addTrader(service, ['EUR', 'GBP'])
  const { partnerId, customer, caller } = partner
  const pounds = { base: 'EUR', quote: 'GBP', rate: { digits: 8n, scale: 1 } } as const
  await service.rates.setByHand({ pair: pounds })
  const iban = (await service.accounts.create(partnerId, customer.id)).ibans[0].iban
  const gate = { partnerId, state: 'Incomplete', allowed: all, totalMax: { EUR: 100_00n } } as const
  await service.db.transaction((tx) => service.customers.gates.set(tx, gate))
  const give = (currency: 'EUR' | 'GBP', amount: string, by = service) => {
    const body = { toCustomerId: customer.id, currency, amount: rawNumber(amount) }
    return by.accounts.transfer(partnerId, body, { caller, ip, requestId: 'test' })
  }
  const session = (amount: string) => {
    const body = {
      amount: rawNumber(amount),
      currency: 'EUR',
      customerId: customer.id,
      idempotencyKey: newId(),
    } as const
    return service.checkout.create(caller, {
      ...body,
      returnUrl: 'https://shop.example/back',
      paymentCountryCode: 'DE',
    })
  }
  // Concurrently: the second credit waits for the customer and sees the first one.
  const given = await Promise.allSettled([give('GBP', '48.00'), give('EUR', '50.00', strict)])
  assert.equal(given.filter(({ status }) => status === 'rejected').length, 1)
  const inAll = async () => (await service.customers.capabilities(partnerId, customer.id)).inAll
  const isOfPounds = given[0]?.status === 'fulfilled'
  assert.deepEqual(await inAll(), { currency: 'EUR', max: 100_00n, held: isOfPounds ? 60_00n : 50_00n })
  await give(isOfPounds ? 'EUR' : 'GBP', '40.00')
  if (!isOfPounds) await assert.rejects(give('GBP', '8.01'), { code: 'balance_limit_exceeded' })
  const detail =
    "A customer whose verification is Incomplete holds at most 100.00 EUR over all currencies. Use a smaller amount, or complete the customer's verification."
  for (const refused of [() => give('EUR', '0.01'), () => give('GBP', '0.01'), () => session('0.01')])
    await assert.rejects(refused(), { code: 'balance_limit_exceeded', detail })
  await credited(iban)
  assert.deepEqual(await casesOf(partner), ['customer_not_verified'])
  const quoted = await quote(service, partner, { buy: 'GBP', sellAmount: '10.00', customerId: customer.id })
  assert.equal(quoted.refusal, undefined)
  await convert(service, partner, quoted.row.id)
  await service.rates.setByHand({ pair: { ...pounds, rate: { digits: 16n, scale: 1 } } })
  await give('EUR', '1.00')
  // Without recent rates the sum is unknown, and money waits.
  const later = await createTestService({
    ...{ url: service.url, now: new Date(service.clock.now().getTime() + 8 * 24 * 3_600_000) },
  })
  await assert.rejects(give('EUR', '0.01', later), { code: 'balance_limit_exceeded' })
  assert.equal((await later.customers.capabilities(partnerId, customer.id)).inAll?.held, undefined)
  await later.close()
  await checkLedger(service.db, partnerId)
})
