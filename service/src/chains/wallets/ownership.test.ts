import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { Refusal } from '../../kernel/api/index.ts'
import { dayMs, type Mode, newId } from '../../kernel/index.ts'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { evmSettings, proofAboveOf } from '../evm/settings.ts'

let service: Service
before(async () => {
  service = await createTestService({ settings: { WALLET_PROOF_ABOVE: '1000' } })
})
after(() => service.close())

const code = (expected: string) => (error: unknown) => error instanceof Refusal && error.code === expected
const wallet = () => privateKeyToAccount(generatePrivateKey())
const payment = { amount: 5_000_000_000n, currency: 'USDC' } as const
const knows = async (partnerId: string, customerId: string | null, address: string, paid = payment) => {
  const asked = { partnerId, customerId, address: address.toLowerCase(), ...paid }
  return (await service.wallets.ownership.areMissing(service.db, [asked]))[0] === false
}

async function begin(signer = wallet()) {
  const { ownership } = service.wallets
  const { partnerId, customer } = await addPartner(service)
  const proof = await ownership.create(partnerId, { customerId: customer.id, address: signer.address })
  assert.ok(proof.message)
  return { ownership, partnerId, customer, signer, proof, message: proof.message }
}

suite('a proof of ownership', () => {
  test('the signature of the wallet proves it for the payments of the customer, and of no one else', async () => {
    const { ownership, partnerId, customer, signer, proof, message } = await begin()
    assert.match(message, new RegExp(`${signer.address}[^]*${customer.id}[^]*${proof.id}`))
    assert.equal(await knows(partnerId, customer.id, signer.address), false)
    const signature = await signer.signMessage({ message })
    const proved = await ownership.sign(partnerId, proof.id, signature)
    assert.deepEqual([proved.status, proved.signature, proved.message], ['Proved', signature, message])
    assert.equal(await knows(partnerId, customer.id, signer.address), true)
    assert.equal(await knows(partnerId, null, signer.address), false)
    assert.equal(await knows(partnerId, newId(), signer.address), false)
    assert.equal(await knows((await addPartner(service)).partnerId, customer.id, signer.address), false)
  })

  test('is proved once: a repetition, with whatever signature, changes nothing', async () => {
    const { ownership, partnerId, proof, signer, message } = await begin()
    const first = await ownership.sign(partnerId, proof.id, await signer.signMessage({ message }))
    service.clock.advance(2 * dayMs)
    const other = await wallet().signMessage({ message })
    assert.deepEqual(await ownership.sign(partnerId, proof.id, other), first)
  })

  test('two signatures at once prove it once', async () => {
    const { ownership, partnerId, proof, signer, message } = await begin()
    const signature = await signer.signMessage({ message })
    const answers = await Promise.all([1, 2, 3].map(() => ownership.sign(partnerId, proof.id, signature)))
    assert.equal(new Set(answers.map(({ provedAt }) => provedAt?.getTime())).size, 1)
  })

  test('refuses the signature of another wallet, over another text, of another form, and zeros', async () => {
    const { ownership, partnerId, proof, signer, message } = await begin()
    const wrong = [
      await wallet().signMessage({ message }),
      await signer.signMessage({ message: `${message} ` }),
      await signer.signMessage({ message: message.replace(proof.id, newId()) }),
      `0x${'0'.repeat(130)}`,
      `0x${'f'.repeat(130)}`,
    ]
    for (const signature of wrong)
      await assert.rejects(ownership.sign(partnerId, proof.id, signature), (error) => {
        assert.ok(error instanceof Refusal)
        assert.deepEqual([error.code, error.errors[0]?.pointer], ['validation_failed', '/signature'])
        return true
      })
    assert.equal((await ownership.get(partnerId, proof.id)).status, 'Requested')
  })

  test('a signature for one proof proves no other one of the same wallet', async () => {
    const { ownership, partnerId, customer, signer, message } = await begin()
    const own = await ownership.create(partnerId, { address: signer.address })
    await assert.rejects(
      ownership.sign(partnerId, own.id, await signer.signMessage({ message })),
      code('validation_failed'),
    )
    assert.notEqual(own.customerId, customer.id)
  })

  test('expires after a day, and is listed as expired', async () => {
    const { ownership, partnerId, proof, signer, message } = await begin()
    service.clock.advance(dayMs)
    await assert.rejects(
      ownership.sign(partnerId, proof.id, await signer.signMessage({ message })),
      code('ownership_proof_expired'),
    )
    assert.equal((await ownership.get(partnerId, proof.id)).status, 'Expired')
    const { data } = await ownership.list(partnerId, { address: signer.address })
    assert.deepEqual(
      data.map(({ id, status }) => [id, status]),
      [[proof.id, 'Expired']],
    )
  })

  test('a declared provider needs no signature', async () => {
    const { ownership, partnerId, customer } = await begin()
    const { address } = wallet()
    const declared = await ownership.create(partnerId, { customerId: customer.serviceId, address, vasp: 'Custody Ltd' })
    assert.deepEqual([declared.status, declared.message, declared.vasp], ['Declared', null, 'Custody Ltd'])
    assert.equal(await knows(partnerId, customer.id, address), true)
    await assert.rejects(ownership.sign(partnerId, declared.id, `0x${'1'.repeat(130)}`), code('validation_failed'))
  })

  test('refuses a wrong address, an unknown customer, and proofs of another partner', async () => {
    const { ownership, partnerId, customer, proof } = await begin()
    const { address } = wallet()
    for (const wrong of ['', '0x12', address.replace(/[a-f]/, (letter) => letter.toUpperCase()), `${address}0`])
      if (wrong !== address)
        await assert.rejects(ownership.create(partnerId, { address: wrong }), code('validation_failed'))
    await assert.rejects(ownership.create(partnerId, { address, customerId: newId() }), code('not_found'))
    const other = await addPartner(service)
    await assert.rejects(ownership.create(other.partnerId, { address, customerId: customer.id }), code('not_found'))
    await assert.rejects(ownership.get(other.partnerId, proof.id), code('not_found'))
    await assert.rejects(ownership.sign(other.partnerId, proof.id, `0x${'1'.repeat(130)}`), code('not_found'))
    assert.deepEqual((await ownership.list(other.partnerId, {})).data, [])
  })

  test('is listed by customer and address, newest first, in pages', async () => {
    const { ownership, partnerId, customer, proof, signer } = await begin()
    const own = await ownership.create(partnerId, { address: signer.address })
    const ids = async (query: object) => (await ownership.list(partnerId, query)).data.map(({ id }) => id)
    assert.deepEqual(await ids({}), [own.id, proof.id])
    assert.deepEqual(await ids({ customerId: customer.serviceId }), [proof.id])
    assert.deepEqual(await ids({ customerId: newId() }), [])
    const page = await ownership.list(partnerId, { limit: '1' })
    assert.deepEqual([page.hasMore, page.data.length], [true, 1])
    assert.deepEqual(await ids({ cursor: page.nextCursor ?? '' }), [proof.id])
  })
})

suite('a payment with a wallet', () => {
  test('up to the sum it needs no proof, above it does, in euros of the day', async () => {
    await service.rates.prepare()
    const { partnerId, customer, signer } = await begin()
    const free = (paid: { readonly amount: bigint; readonly currency: 'USDC' | 'EURC' }) =>
      knows(partnerId, customer.id, signer.address, paid as typeof payment)
    assert.equal(await free({ amount: 900_000_000n, currency: 'EURC' }), true)
    assert.equal(await free({ amount: 1_100_000_000n, currency: 'EURC' }), false)
    assert.equal(await free({ amount: 900_000_000n, currency: 'USDC' }), true, 'dollars are worth less than euros')
    assert.equal(await free({ amount: 1_500_000_000n, currency: 'USDC' }), false)
  })

  test('without a rate every payment needs a proof, and with the setting none no payment does', async () => {
    const blind = await createTestService({ settings: { WALLET_PROOF_ABOVE: '1000', FX_RATES: 'none' } })
    const free = await createTestService({ settings: { WALLET_PROOF_ABOVE: 'none' } })
    const asked = {
      partnerId: newId(),
      customerId: null,
      address: `0x${'1'.repeat(40)}`,
      amount: 1n,
      currency: 'USDC',
    } as const
    assert.deepEqual(await blind.wallets.ownership.areMissing(blind.db, [asked]), [true])
    assert.deepEqual(await free.wallets.ownership.areMissing(free.db, [{ ...asked, amount: 10n ** 15n }]), [false])
    await Promise.all([blind.close(), free.close()])
  })

  test('the sandbox asks for no proof, and production above 1,000 euros', () => {
    const read = (text: string | undefined, mode: Mode) => proofAboveOf(evmSettings.WALLET_PROOF_ABOVE.read(text, mode))
    assert.deepEqual([read(undefined, 'sandbox'), read(undefined, 'production')], [undefined, 100_000n])
    assert.deepEqual(
      [read('none', 'production'), read('999.9', 'sandbox'), read('0', 'sandbox')],
      [undefined, 99_990n, 0n],
    )
    for (const wrong of ['', '-1', '1.234', '1e3', '1,000', 'EUR 1000'])
      assert.throws(() => read(wrong, 'production'), /must be none, or an amount of euros/)
  })
})
