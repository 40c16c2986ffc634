/** Wallets, their payments, and proofs of ownership. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { dayMs, minuteMs, type Mode, newId } from '../../kernel/index.ts'
import { addressProblem, simulatedChainConnectorId } from '../../rails/index.ts'
import {
  addPartner,
  createTestService,
  ip,
  stepMsDefault,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { chooseNetwork } from './service.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { sql } from '../../postgres/index.ts'
import { processBankNotifications } from '../../banks/settlement/index.ts'
import { ledgerFindings } from '../../../../test/support/integrity.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { refused } from '../../../../test/support/refusals.ts'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
import { evmSettings, parseProofAbove } from '../evm/settings.ts'

suite('wallets', async () => {
  const service = await useModules()

  const code = (expected: string) => (error: unknown) => (error as { readonly code?: string }).code === expected

  test('a customer has one wallet for each token, and the partner has its own', async () => {
    const { partnerId, customer } = await addPartner(service)
    const first = await service.wallets.create(partnerId, { customerId: customer.id, currency: 'USDC' })
    const again = await service.wallets.create(partnerId, { customerId: customer.serviceId, currency: 'USDC' })
    const other = await service.wallets.create(partnerId, { customerId: customer.id, currency: 'EURC' })
    const own = await service.wallets.create(partnerId, { currency: 'USDC' })
    assert.deepEqual([first.isNew, again], [true, { ...first, isNew: false }])
    assert.equal(new Set([first, other, own].map(({ address }) => address)).size, 3)
    assert.equal(addressProblem(first.address), undefined)
    assert.deepEqual([own.wallet.customerId, own.wallet.ownerId], [null, partnerId])
    assert.deepEqual(
      [first.wallet.connector, first.wallet.network, first.received],
      [simulatedChainConnectorId, 'simulated', 0n],
    )
  })

  test('twenty concurrent requests create one wallet for each of two partners, with different addresses', async () => {
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

  test('a wallet is created in a transaction without a second connection', async () => {
    const alone = await createTestService({ url: service.url, connectionsMax: 1 })
    const { partnerId } = await addPartner(service)
    const create = () => alone.db.transaction((tx) => alone.wallets.create(partnerId, { currency: 'USDC' }, tx))
    const [made, again] = [await create(), await create()]
    assert.deepEqual([made.isNew, again], [true, { ...made, isNew: false }])
    await alone.close()
  })

  test('the key of the addresses survives a restart: the next process derives the next address', async () => {
    const restarted = await createTestService({ url: service.url })
    const { partnerId } = await addPartner(service)
    const one = await service.wallets.create(partnerId, { currency: 'USDC' })
    const two = await restarted.wallets.create(partnerId, { currency: 'EURC' })
    assert.equal(two.wallet.publicKey, one.wallet.publicKey)
    assert.equal(two.wallet.addressIndex, one.wallet.addressIndex + 1)
    await restarted.close()
  })

  test('a partner can only list and read its own wallets', async () => {
    const [partner, other] = [await addPartner(service), await addPartner(service)]
    const { partnerId, customer } = partner
    const wallet = await service.wallets.create(partnerId, { customerId: customer.id, currency: 'USDC' })
    const own = await service.wallets.create(partnerId, { currency: 'EURC' })
    const ids = async (query: object) => (await service.wallets.list(partnerId, query)).data.map(({ id }) => id)
    assert.deepEqual(await ids({}), [own.id, wallet.id])
    assert.deepEqual(await ids({ customerId: customer.serviceId }), [wallet.id])
    assert.deepEqual(await ids({ currency: 'EURC' }), [own.id])
    assert.deepEqual(await ids({ customerId: newId() }), [])
    assert.deepEqual({ ...(await service.wallets.get(partnerId, wallet.id)), isNew: true }, wallet)
    await assert.rejects(service.wallets.get(other.partnerId, wallet.id), code('not_found'))
    assert.deepEqual((await service.wallets.list(other.partnerId, {})).data, [])
  })

  test('an address has an owner, and an unknown address has no owner', async () => {
    const { partnerId, customer } = await addPartner(service)
    const { wallet } = await service.wallets.create(partnerId, { customerId: customer.id, currency: 'USDC' })
    const stranger = `0x${'9'.repeat(40)}`
    const owners = await service.wallets.findOwners(service.db, [wallet.address, stranger])
    assert.deepEqual([...owners], [[wallet.address, { partnerId, customerId: customer.id }]])
  })

  test('a wallet for fiat money, an unknown currency, a customer of another partner, or a token without a chain is refused', async () => {
    const [{ partnerId }, other] = [await addPartner(service), await addPartner(service)]
    const create = (input: { readonly currency: string; readonly customerId?: string }) =>
      service.wallets.create(partnerId, input)
    await assert.rejects(create({ currency: 'EUR' }), code('currency_not_supported'))
    await assert.rejects(create({ currency: 'XYZ' }), code('validation_failed'))
    await assert.rejects(create({ currency: 'USDC', customerId: other.customer.id }), code('not_found'))
    const networks = [{ id: 'evm-1', chainId: 1, network: 'test', tokens: { USDC: '0x1' } }]
    assert.equal(chooseNetwork(networks, () => 'evm-1', { partnerId, currency: 'USDC' }).chainId, 1)
    for (const [connector, currency] of [
      ['evm-1', 'EURC'],
      ['evm-2', 'USDC'],
      [undefined, 'USDC'],
    ] as const)
      assert.throws(
        () => chooseNetwork(networks, () => connector, { partnerId, currency }),
        code('currency_not_supported'),
      )
  })
})

suite('payments', async () => {
  // The sandbox bank transfers tokens here: the module decides in the same way as on a chain.
  const settings = { WALLET_PROOF_ABOVE: '1000' }
  const service = await useModules({ settings })
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  await service.rates.prepare()

  const owner = () => privateKeyToAccount(generatePrivateKey())
  const large = 5_000_000000n
  const holdOf = async (partnerId: string, reference: string) =>
    service.holdOf(await service.transactions.get(partnerId, reference))

  /** Sends tokens from a wallet to the wallet of the partner's customer. */
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
    assert.deepEqual(await ledgerFindings(service.db, partnerId), [])
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
    test('tokens up to the threshold are credited at once', async () => {
      const { partnerId } = await receive(owner(), 900_000000n)
      assert.deepEqual(await shown(partnerId), credited(900_000000n))
    })

    test('tokens above the threshold wait, the partner sees why, and the proof credits them exactly once', async () => {
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

    test('tokens from a wallet that is proved, or whose provider is declared, are credited at once', async () => {
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

    test('tokens without a proof in time remain in a case until staff decide', async () => {
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
      const { id } = await service.beneficiaries.create(partnerId, {
        ...payee,
        ...(vasp === undefined ? {} : { vasp }),
      })
      const body = { amount: rawNumber(amount), currency: 'EURC' as const, beneficiaryId: id }
      const pay = () => service.payouts.createToken(caller, { ...body, idempotencyKey: newId() }, ip)
      return { partner, signer, pay }
    }

    test('a payout of tokens above the threshold needs a proof, which the refusal requests', async () => {
      const { partner, signer, pay } = await payTo('1100.00')
      await assert.rejects(pay(), (error) => {
        assert.ok(error instanceof Refusal)
        assert.deepEqual([error.code, error.errors[0]?.pointer], ['ownership_proof_required', '/beneficiaryId'])
        return true
      })
      await prove(partner, signer)
      assert.ok((await pay()).payout.id)
    })

    test('a payout of tokens up to the threshold, or to a hosted wallet, needs no proof', async () => {
      assert.ok((await (await payTo('900.00')).pay()).payout.id)
      assert.ok((await (await payTo('5000.00', 'Custody Ltd')).pay()).payout.id)
    })
  })
})

suite('proofs of ownership', async () => {
  const service = await useModules({ settings: { WALLET_PROOF_ABOVE: '1000' } })
  const wallet = () => privateKeyToAccount(generatePrivateKey())
  const payment = { amount: 5_000_000_000n, currency: 'USDC' } as const
  const knows = async (partnerId: string, customerId: string | null, address: string, paid = payment) => {
    const asked = { partnerId, customerId, address: address.toLowerCase(), ...paid }
    return (await service.wallets.ownership.findMissing(service.db, [asked]))[0] === false
  }

  async function begin(signer = wallet()) {
    const { ownership } = service.wallets
    const { partnerId, customer } = await addPartner(service)
    const proof = await ownership.create(partnerId, { customerId: customer.id, address: signer.address })
    assert.ok(proof.message)
    return { ownership, partnerId, customer, signer, proof, message: proof.message }
  }

  suite('a proof of ownership', () => {
    test('the signature of a wallet proves it only for payments of that customer', async () => {
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

    test('a proof is completed exactly once: a repetition, with any signature, changes nothing', async () => {
      const { ownership, partnerId, proof, signer, message } = await begin()
      const first = await ownership.sign(partnerId, proof.id, await signer.signMessage({ message }))
      service.clock.advance(2 * dayMs)
      const other = await wallet().signMessage({ message })
      assert.deepEqual(await ownership.sign(partnerId, proof.id, other), first)
    })

    test('two simultaneous signatures complete a proof exactly once', async () => {
      const { ownership, partnerId, proof, signer, message } = await begin()
      const signature = await signer.signMessage({ message })
      const answers = await Promise.all([1, 2, 3].map(() => ownership.sign(partnerId, proof.id, signature)))
      assert.equal(new Set(answers.map(({ provedAt }) => provedAt?.getTime())).size, 1)
    })

    test('a signature of another wallet, over another text, malformed or of zeros is refused', async () => {
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

    test('a signature for one proof does not complete another proof of the wallet', async () => {
      const { ownership, partnerId, customer, signer, message } = await begin()
      const own = await ownership.create(partnerId, { address: signer.address })
      await assert.rejects(
        ownership.sign(partnerId, own.id, await signer.signMessage({ message })),
        refused('validation_failed'),
      )
      assert.notEqual(own.customerId, customer.id)
    })

    test('a proof expires after a day, and is listed as expired', async () => {
      const { ownership, partnerId, proof, signer, message } = await begin()
      service.clock.advance(dayMs)
      await assert.rejects(
        ownership.sign(partnerId, proof.id, await signer.signMessage({ message })),
        refused('ownership_proof_expired'),
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
      const declared = await ownership.create(partnerId, {
        customerId: customer.serviceId,
        address,
        vasp: 'Custody Ltd',
      })
      assert.deepEqual([declared.status, declared.message, declared.vasp], ['Declared', null, 'Custody Ltd'])
      assert.equal(await knows(partnerId, customer.id, address), true)
      await assert.rejects(ownership.sign(partnerId, declared.id, `0x${'1'.repeat(130)}`), refused('validation_failed'))
    })

    test('a wrong address, an unknown customer, and the proofs of another partner are refused', async () => {
      const { ownership, partnerId, customer, proof } = await begin()
      const { address } = wallet()
      for (const wrong of ['', '0x12', address.replace(/[a-f]/, (letter) => letter.toUpperCase()), `${address}0`])
        if (wrong !== address)
          await assert.rejects(ownership.create(partnerId, { address: wrong }), refused('validation_failed'))
      await assert.rejects(ownership.create(partnerId, { address, customerId: newId() }), refused('not_found'))
      const other = await addPartner(service)
      await assert.rejects(
        ownership.create(other.partnerId, { address, customerId: customer.id }),
        refused('not_found'),
      )
      await assert.rejects(ownership.get(other.partnerId, proof.id), refused('not_found'))
      await assert.rejects(ownership.sign(other.partnerId, proof.id, `0x${'1'.repeat(130)}`), refused('not_found'))
      assert.deepEqual((await ownership.list(other.partnerId, {})).data, [])
    })

    test('proofs are listed by customer and address, newest first, in pages', async () => {
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
    test("a payment needs a proof only above the threshold in euros at the day's rate", async () => {
      await service.rates.prepare()
      const { partnerId, customer, signer } = await begin()
      const free = (paid: { readonly amount: bigint; readonly currency: 'USDC' | 'EURC' }) =>
        knows(partnerId, customer.id, signer.address, paid as typeof payment)
      assert.equal(await free({ amount: 900_000_000n, currency: 'EURC' }), true)
      assert.equal(await free({ amount: 1_100_000_000n, currency: 'EURC' }), false)
      assert.equal(await free({ amount: 900_000_000n, currency: 'USDC' }), true, 'dollars are worth less than euros')
      assert.equal(await free({ amount: 1_500_000_000n, currency: 'USDC' }), false)
    })

    test('without a rate every payment needs a proof; with the setting `none` no payment does', async () => {
      const blind = await createTestService({ settings: { WALLET_PROOF_ABOVE: '1000', FX_RATES: 'none' } })
      const free = await createTestService({ settings: { WALLET_PROOF_ABOVE: 'none' } })
      const asked = {
        partnerId: newId(),
        customerId: null,
        address: `0x${'1'.repeat(40)}`,
        amount: 1n,
        currency: 'USDC',
      } as const
      assert.deepEqual(await blind.wallets.ownership.findMissing(blind.db, [asked]), [true])
      assert.deepEqual(await free.wallets.ownership.findMissing(free.db, [{ ...asked, amount: 10n ** 15n }]), [false])
      await Promise.all([blind.close(), free.close()])
    })

    test('the sandbox requires no proof, and production requires one above 1,000 euros', () => {
      const read = (text: string | undefined, mode: Mode) =>
        parseProofAbove(evmSettings.WALLET_PROOF_ABOVE.read(text, mode))
      assert.deepEqual([read(undefined, 'sandbox'), read(undefined, 'production')], [undefined, 100_000n])
      assert.deepEqual(
        [read('none', 'production'), read('999.9', 'sandbox'), read('0', 'sandbox')],
        [undefined, 99_990n, 0n],
      )
      for (const wrong of ['', '-1', '1.234', '1e3', '1,000', 'EUR 1000'])
        assert.throws(() => read(wrong, 'production'), /must be none, or an amount of euros/)
    })
  })
})
