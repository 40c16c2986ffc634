import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../kernel/index.ts'
import { addressProblem, simulatedChainConnectorId } from '../../rails/index.ts'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { networkFor } from './service.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

const code = (expected: string) => (error: unknown) => (error as { readonly code?: string }).code === expected

test('a customer has one wallet for each token, and the partner has its own', async () => {
  const { partnerId, customer } = await addPartner(service)
  const first = await service.wallets.create(partnerId, { customerId: customer.id, currency: 'USDC' })
  const again = await service.wallets.create(partnerId, { customerId: customer.serviceId, currency: 'USDC' })
  const other = await service.wallets.create(partnerId, { customerId: customer.id, currency: 'EURC' })
  const own = await service.wallets.create(partnerId, { currency: 'USDC' })
  assert.deepEqual(again, first)
  assert.equal(new Set([first, other, own].map(({ address }) => address)).size, 3)
  assert.equal(addressProblem(first.address), undefined)
  assert.deepEqual([own.wallet.customerId, own.wallet.ownerId], [null, partnerId])
  assert.deepEqual(
    [first.wallet.connector, first.wallet.network, first.received],
    [simulatedChainConnectorId, 'simulated', 0n],
  )
})

test('twenty concurrent requests of two partners get one wallet each, and no address twice', async () => {
  const partners = [await addPartner(service), await addPartner(service)]
  const made = await Promise.all(
    Array.from({ length: 20 }, (_none, index) => {
      const { partnerId, customer } = partners[index % 2] ?? assert.fail()
      return service.wallets.create(partnerId, { customerId: customer.id, currency: 'USDC' })
    }),
  )
  assert.equal(new Set(made.map(({ wallet }) => wallet.id)).size, 2)
  assert.equal(new Set(made.map(({ address }) => address)).size, 2)
})

test('the key of the addresses outlives a restart: the next process derives the next address', async () => {
  const restarted = await createTestService({ url: service.url })
  const { partnerId } = await addPartner(service)
  const one = await service.wallets.create(partnerId, { currency: 'USDC' })
  const two = await restarted.wallets.create(partnerId, { currency: 'EURC' })
  assert.equal(two.wallet.publicKey, one.wallet.publicKey)
  assert.equal(two.wallet.addressIndex, one.wallet.addressIndex + 1)
  await restarted.close()
})

test('lists and gets wallets of the partner only', async () => {
  const [partner, other] = [await addPartner(service), await addPartner(service)]
  const { partnerId, customer } = partner
  const wallet = await service.wallets.create(partnerId, { customerId: customer.id, currency: 'USDC' })
  const own = await service.wallets.create(partnerId, { currency: 'EURC' })
  const ids = async (query: object) => (await service.wallets.list(partnerId, query)).data.map(({ id }) => id)
  assert.deepEqual(await ids({}), [own.id, wallet.id])
  assert.deepEqual(await ids({ customerId: customer.serviceId }), [wallet.id])
  assert.deepEqual(await ids({ currency: 'EURC' }), [own.id])
  assert.deepEqual(await ids({ customerId: newId() }), [])
  assert.deepEqual(await service.wallets.get(partnerId, wallet.id), wallet)
  await assert.rejects(service.wallets.get(other.partnerId, wallet.id), code('not_found'))
  assert.deepEqual((await service.wallets.list(other.partnerId, {})).data, [])
})

test('an address leads to its owner, and any other to none', async () => {
  const { partnerId, customer } = await addPartner(service)
  const { wallet } = await service.wallets.create(partnerId, { customerId: customer.id, currency: 'USDC' })
  const stranger = `0x${'9'.repeat(40)}`
  const owners = await service.wallets.ownersOf(service.db, [wallet.address, stranger])
  assert.deepEqual([...owners], [[wallet.address, { partnerId, customerId: customer.id }]])
})

test('refuses fiat money, unknown currencies, customers of others, and tokens that no chain carries', async () => {
  const [{ partnerId }, other] = [await addPartner(service), await addPartner(service)]
  const create = (input: { readonly currency: string; readonly customerId?: string }) =>
    service.wallets.create(partnerId, input)
  await assert.rejects(create({ currency: 'EUR' }), code('currency_not_supported'))
  await assert.rejects(create({ currency: 'XYZ' }), code('validation_failed'))
  await assert.rejects(create({ currency: 'USDC', customerId: other.customer.id }), code('not_found'))
  const networks = [{ id: 'evm-1', chainId: 1, network: 'test', tokens: { USDC: '0x1' } }]
  assert.equal(networkFor(networks, () => 'evm-1', { partnerId, currency: 'USDC' }).chainId, 1)
  for (const [connector, currency] of [
    ['evm-1', 'EURC'],
    ['evm-2', 'USDC'],
    [undefined, 'USDC'],
  ] as const)
    assert.throws(() => networkFor(networks, () => connector, { partnerId, currency }), code('currency_not_supported'))
})
