/** Tokens that go to wallets and come from them, above the sum from which it must be known who controls the wallet. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { Refusal } from '../../kernel/api/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { dayMs, minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { processBankNotifications } from '../../banks/settlement/index.ts'
import {
  addPartner,
  createTestService,
  ip,
  type Service,
  stepMsDefault,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { findingsOf } from '../../../../test/support/integrity.ts'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'

let service: Service
before(async () => {
  // The sandbox bank carries tokens: the module judges them alike on a chain.
  const settings = { WALLET_PROOF_ABOVE: '1000' }
  service = await createTestService({ settings })
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  await service.rates.prepare()
})
after(() => service.close())

const owner = () => privateKeyToAccount(generatePrivateKey())
const large = 5_000_000000n
const holdOf = async (partnerId: string, reference: string) =>
  service.holdOf(await service.transactions.get(partnerId, reference))

/** A wallet sends tokens to the wallet of the partner's customer. */
async function receive(signer = owner(), amount = large, partner?: TestPartner) {
  const to = partner ?? (await addPartner(service))
  const { partnerId, customer } = to
  const { address: account } = await service.wallets.create(partnerId, { customerId: customer.id, currency: 'EURC' })
  const debtor = { account: signer.address, bic: '', name: '', countryCode: '', address: null }
  const credit = { account: account.toLowerCase(), money: { currency: 'EURC' as const, amount }, debtor }
  await service.db.transaction(async (tx) =>
    service.bank.sendCredit(tx, operatorPartnerId, newId(), { ...credit, remittance: null, endToEndId: '' }),
  )
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
  const [transaction] = (await service.transactions.list(partnerId, { category: 'Deposit' })).data
  assert.ok(transaction)
  return { ...to, signer, reference: transaction.row.reference, depositId: await depositIdOf(partnerId) }
}
async function depositIdOf(partnerId: string): Promise<string> {
  const { data } = await service.transactions.list(partnerId, { category: 'Deposit' })
  const [deposit] = await service.deposits.byReferences(
    service.db,
    partnerId,
    data.map(({ row }) => row.reference),
  )
  return deposit?.id ?? ''
}
const look = async (ms = minuteMs) => {
  service.clock.advance(ms)
  await service.deposits.screenDue(1000)
}
async function shown(partnerId: string) {
  const { data } = await service.transactions.list(partnerId, { category: 'Deposit' })
  const deposits = await service.deposits.byReferences(
    service.db,
    partnerId,
    data.map(({ row }) => row.reference),
  )
  const [balance] = await service.db.rows<{ readonly posted: bigint }>(
    sql`select posted from ledger.accounts where partner_id = ${partnerId} and currency = 'EURC' and name = 'balance'`,
  )
  const posted = balance?.posted ?? 0n
  const cases = (await service.cases.list(undefined, 1000)).filter((row) => row.partnerId === partnerId)
  await checkLedger(service.db, partnerId)
  assert.deepEqual(await findingsOf(service.db, partnerId), [])
  return [deposits.map(({ status }) => status).join(), posted, cases.map(({ kind }) => kind).join()]
}
const held = ['Screening', 0n, 'payer_data_missing']
const credited = (amount = large) => ['Completed', amount, '']

async function prove({ partnerId, customer }: TestPartner, signer: ReturnType<typeof owner>) {
  const { ownership } = service.wallets
  const proof = await ownership.create(partnerId, { customerId: customer.id, address: signer.address })
  await ownership.sign(partnerId, proof.id, await signer.signMessage({ message: proof.message ?? '' }))
}

suite('tokens from a wallet', () => {
  test('up to the sum they are credited at once', async () => {
    const { partnerId } = await receive(owner(), 900_000000n)
    assert.deepEqual(await shown(partnerId), credited(900_000000n))
  })

  test('above it they wait, the partner reads why, and the proof credits them once', async () => {
    const got = await receive()
    const { partnerId, signer, reference } = got
    await look()
    assert.deepEqual(await shown(partnerId), held)
    const hold = await holdOf(partnerId, reference)
    assert.equal(hold?.kind, 'walletOwnership')
    assert.ok(hold.by && hold.by > service.clock.now())
    const waiting = await service.deposits.payers.waiting(service.db, 100)
    assert.deepEqual(waiting.find(({ id }) => id === got.depositId)?.lacks, 'ownership')
    await prove(await addPartner(service), signer)
    await look()
    assert.deepEqual(await shown(partnerId), held, 'the proof of another partner')
    await prove(got, signer)
    await look()
    await look()
    assert.deepEqual(await shown(partnerId), credited())
    const left = await service.deposits.payers.waiting(service.db, 100)
    assert.equal(
      left.some(({ id }) => id === got.depositId),
      false,
    )
    assert.equal(await holdOf(partnerId, reference), undefined)
  })

  test('a wallet that is proved, or whose provider is declared, is credited at once the next time', async () => {
    const first = await receive()
    await prove(first, first.signer)
    await look()
    await receive(first.signer, large, first)
    assert.deepEqual((await shown(first.partnerId)).slice(0, 2), ['Completed,Completed', 2n * large])
    const partner = await addPartner(service)
    const signer = owner()
    const { address } = signer
    await service.wallets.ownership.create(partner.partnerId, {
      customerId: partner.customer.id,
      address,
      vasp: 'Custody',
    })
    await receive(signer, large, partner)
    assert.deepEqual(await shown(partner.partnerId), credited())
  })

  test('without a proof in time they stay in a case, and persons decide', async () => {
    const got = await receive()
    await look(14 * dayMs)
    assert.deepEqual(await shown(got.partnerId), ['Failed', 0n, 'payer_data_missing'])
    await prove(got, got.signer)
    await look()
    assert.deepEqual(await shown(got.partnerId), ['Failed', 0n, 'payer_data_missing'])
  })
})

suite('tokens to a wallet', () => {
  const payTo = async (amount: string, vasp?: string) => {
    await service.rates.prepare()
    const partner = await addPartner(service)
    const { partnerId, customer, caller } = partner
    const usdc = { debit: 'settlement.sandbox', currency: 'EURC', amount: 10_000_000000n } as const
    await service.db.transaction((tx) => service.deposits.creditPartner(tx, partnerId, usdc))
    const signer = owner()
    const payee = { name: 'Grace Hopper', currency: 'EURC', walletAddress: signer.address, customerId: customer.id }
    const { id } = await service.beneficiaries.create(partnerId, { ...payee, ...(vasp === undefined ? {} : { vasp }) })
    const body = { amount: rawNumber(amount), currency: 'EURC' as const, beneficiaryId: id }
    const pay = () => service.payouts.createToken(caller, { ...body, idempotencyKey: newId() }, ip)
    return { partner, signer, pay }
  }

  test('above the sum they need a proof, which the refusal asks for', async () => {
    const { partner, signer, pay } = await payTo('1100.00')
    await assert.rejects(pay(), (error) => {
      assert.ok(error instanceof Refusal)
      assert.deepEqual([error.code, error.errors[0]?.pointer], ['ownership_proof_required', '/beneficiaryId'])
      return true
    })
    await prove(partner, signer)
    assert.ok((await pay()).payout.id)
  })

  test('up to the sum, and to a wallet that a provider keeps, they need none', async () => {
    assert.ok((await (await payTo('900.00')).pay()).payout.id)
    assert.ok((await (await payTo('5000.00', 'Custody Ltd')).pay()).payout.id)
  })
})
