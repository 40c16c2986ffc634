/** Payees by sort code or routing number. Contract page, Extensions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type JsonObject, success, textAt } from '../support/client.ts'
import { assertShape, beneficiary as beneficiaryShape } from '../support/documented.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { createCustomer, payoutText, transactionOf } from '../support/world.ts'
import { until } from '../support/until.ts'

const service = await useSharedService()
const { client } = service

const named = { name: 'Grace Hopper', address: { city: 'London', country: 'GB' } }
const british = { ...named, currency: 'GBP', sortCode: '20-00-00', accountNumber: '5779911' }
const american = { ...named, currency: 'USD', routingNumber: '021000021', accountNumber: '123 456 789' }
const create = async (body: JsonObject) => success(await client.post('/v1/beneficiaries', body))

test('200 to a British and to an American account, in the form that the bank reads', async () => {
  const made = await create(british)
  assertShape(beneficiaryShape, made)
  const { iban, sortCode, accountNumber, country } = made
  assert.deepEqual([iban, sortCode, accountNumber, country], [undefined, '200000', '05779911', 'GB'])
  assert.deepEqual(success(await client.get(`/v1/beneficiaries/${textAt(made, 'id')}`)), made)
  const other = await create(american)
  assert.deepEqual([other.routingNumber, other.accountNumber, other.country], ['021000021', '123456789', 'US'])
  assert.equal('accountType' in other, false)
  for (const accountType of ['Checking', 'Savings']) {
    const typed = await create({ ...american, accountType })
    assertShape(beneficiaryShape, typed)
    assert.equal(typed.accountType, accountType)
  }
  const island = await create({ ...british, country: 'JE' })
  assert.equal(island.country, 'JE')
  assert.equal((await create({ ...named, currency: 'GBP', iban: 'GB29NWBK60161331926819' })).sortCode, undefined)
})

const refused: readonly (readonly [title: string, body: JsonObject, pointers: readonly string[]])[] = [
  ['without an account', { ...named, currency: 'GBP' }, ['/iban']],
  ['without an account number', { ...named, currency: 'GBP', sortCode: '200000' }, ['/accountNumber']],
  ['without a bank', { ...named, currency: 'USD', accountNumber: '1' }, ['/routingNumber']],
  ['with an IBAN as well', { ...british, iban: 'GB29NWBK60161331926819' }, ['/sortCode', '/accountNumber']],
  ['in euro', { ...british, currency: 'EUR' }, ['/sortCode', '/accountNumber', '/iban']],
  ['in a token', { ...british, currency: 'USDC' }, ['/sortCode', '/walletAddress', '/accountNumber']],
  ['with an account of the other country', { ...american, currency: 'GBP' }, ['/routingNumber', '/sortCode']],
  [
    'with a wrong sort code and number',
    { ...british, sortCode: '2000', accountNumber: '12' },
    ['/sortCode', '/accountNumber'],
  ],
  ['with a wrong check digit', { ...american, routingNumber: '021000022' }, ['/routingNumber']],
  ['with a number that is too long', { ...american, accountNumber: '123456789012345678' }, ['/accountNumber']],
  ['in another country', { ...british, country: 'DE' }, ['/country']],
  ['with a type of a British account', { ...british, accountType: 'Savings' }, ['/accountType']],
  [
    'with a type beside an IBAN',
    { ...named, currency: 'EUR', iban: 'NL91ABNA0417164300', accountType: 'Checking' },
    ['/accountType'],
  ],
  ['with an unknown type', { ...american, accountType: 'Loan' }, ['/accountType']],
]
for (const [title, body, pointers] of refused)
  test(`400 ${title}, with a pointer to each field`, async () => {
    const problem = assertProblem(await client.post('/v1/beneficiaries', body), {
      status: 400,
      pointer: pointers[0] ?? '',
    })
    const errors = problem['errors'] as readonly { readonly pointer: string }[]
    assert.deepEqual(errors.map(({ pointer }) => pointer).toSorted(), pointers.toSorted())
  })

test('a beneficiary without an address can be saved, is listed as incomplete, and can be paid once it has an address', async () => {
  const { address, ...bare } = british
  const made = await create({ ...bare, alias: crypto.randomUUID() })
  const id = textAt(made, 'id')
  assertShape(beneficiaryShape, made)
  assert.deepEqual(made.missingFields, ['address'])
  const order = () => payoutText(id, '1.00', { currency: 'GBP' })
  assertProblem(await client.post('/v1/payouts/fiat', order()), {
    ...{ status: 422, code: 'beneficiary_not_payable', pointer: '/beneficiaryId' },
  })
  const listed = success(await client.get('/v1/beneficiaries?incompleteOn=2026-11-14&currency=GBP&limit=100'))
  assert.ok((listed['data'] as readonly JsonObject[]).some((one) => one['id'] === id))
  const updated = success(await client.put('/v1/beneficiaries', { id, address }))
  assert.deepEqual([updated['missingFields'], updated['address']], [undefined, address])
  success(await client.post('/v1/payouts/fiat', order()))
})

test('the requirements of a corridor are listed with their days and sources', async () => {
  const { data } = success(await client.get('/v1/beneficiaries/requirements?country=US&currency=USD'))
  const [first] = data as readonly JsonObject[]
  assert.deepEqual(
    [first?.['party'], first?.['field'], first?.['rule'], first?.['rail'], first?.['validFrom']],
    ['Payee', 'address.city', 'Required', 'Swift', '2026-11-14'],
  )
  const tokens = success(await client.get('/v1/beneficiaries/requirements?country=US&currency=USDC'))
  assert.deepEqual(tokens['data'], [])
  assertProblem(await client.get('/v1/beneficiaries/requirements?country=US&currency=ABC'), {
    ...{ status: 400, pointer: '/currency' },
  })
})

test('a payout to the account completes, and payout, transaction and preview show the account', async () => {
  const customer = await createCustomer(client)
  for (const [body, account] of [
    [british, 'GBDSC200000/05779911'],
    [american, 'USABA021000021/123456789'],
  ] as const) {
    const { id } = await create({ ...body, customerId: textAt(customer, 'guid') })
    const order = {
      beneficiaryId: String(id),
      amount: 12.5,
      currency: body.currency,
      idempotencyKey: crypto.randomUUID(),
    }
    const preview = success(
      await client.post('/v1/payouts/fiat/preview', { ...order, idempotencyKey: crypto.randomUUID() }),
    )
    assert.equal(preview['accepted'], true, JSON.stringify(preview))
    const paid = success(await client.post('/v1/payouts/fiat', { ...order, reference: `Rent ${body.currency}` }))
    assert.equal(paid.beneficiaryAccount, account)
    const reference = textAt(paid, 'reference')
    await until('the payout has ended', async () => (await transactionOf(client, reference)).status === 'Completed')
    const { creditorDetails } = await transactionOf(client, reference)
    const { sortCode, routingNumber, accountNumber, iban } = creditorDetails as JsonObject
    assert.equal(iban, undefined)
    assert.deepEqual([sortCode ?? routingNumber, accountNumber], account.slice(5).split('/'))
  }
})

test("a payout in a currency other than the account's is refused", async () => {
  const { id } = await create(british)
  const problem = await client.post('/v1/payouts/fiat', payoutText(String(id), '5.00'))
  assertProblem(problem, { status: 422, pointer: '/currency' })
})
