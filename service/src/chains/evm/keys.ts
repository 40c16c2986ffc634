/**
 * The keys of chain connectors. Addresses are derived from an extended public key, so that an API process does not need a
 * private key. The private key of the sending account is sealed under the master key.
 */
import { type Clock, present, randomBytes, type Sealer } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { loadEvm } from './node.ts'
import * as store from './store-chain.ts'
import type { Secp256k1Signature } from './viem.ts'

/**
 * Signs for the sending account. It only receives the hash of a transaction, like a key management service, and returns
 * `r`, `s` in the lower half, and the recovery bit.
 */
export type Signer = {
  readonly address: string
  readonly sign: (hash: string) => Promise<Secp256k1Signature>
}

export type ChainKeys = {
  /** Reads the extended public key from which addresses are derived; undefined if there is none yet. */
  readonly addresses: (tx: Tx) => Promise<string | undefined>
  /** Returns the signer of the sending account; undefined if there is none yet. */
  readonly signer: () => Promise<Signer | undefined>
  /**
   * Generates missing keys and returns the public ones. Concurrent calls return the same keys. `also` joins the
   * transaction.
   */
  readonly create: (
    also?: (tx: Tx) => Promise<void>,
  ) => Promise<{ readonly sender: string; readonly addresses: string }>
}

const seedBytes = 32

export function createChainKeys(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  /** Whether keys are generated at their first use, as in a sandbox. */
  readonly makesKeys: boolean
}): ChainKeys {
  const { db, clock, sealer, makesKeys } = deps

  const insert = (tx: Tx, name: store.KeyName, publicKey: string, secret: string) =>
    store.insertKey(tx, { name, publicKey, secretSealed: sealer.seal(secret, store.keyContext(name)) }, clock.now())

  const create: ChainKeys['create'] = async (also) => {
    const evm = await loadEvm()
    return db.transaction(async (tx) => {
      const account = evm.accountKeys(randomBytes(seedBytes))
      await insert(tx, 'addresses', account.publicKey, account.privateKey)
      const privateKey = `0x${randomBytes(seedBytes).toString('hex')}`
      await insert(tx, 'sender', evm.privateKeyAddress(privateKey), privateKey)
      const keys = new Map((await store.listKeys(tx)).map((row) => [row.name, row.publicKey]))
      const of = (name: store.KeyName) => present(keys.get(name), `no key ${name} of the connector`)
      await also?.(tx)
      return { sender: of('sender'), addresses: of('addresses') }
    })
  }

  const key = async (tx: Tx, name: store.KeyName) => {
    const row = await store.keyByName(tx, name)
    if (row !== undefined || !makesKeys) return row
    await create()
    return store.keyByName(db, name)
  }

  return {
    create,
    addresses: async (tx) => (await key(tx, 'addresses'))?.publicKey,
    signer: async () => {
      const row = await key(db, 'sender')
      return row && localSigner(row.publicKey, sealer.open(row.secretSealed, store.keyContext('sender')))
    },
  }
}

const localSigner = (address: string, privateKey: string): Signer => ({
  address,
  sign: async (hash) => {
    const evm = await loadEvm()
    return evm.signWithPrivateKey(hash, privateKey)
  },
})

/** Derives the address with this index from the extended public key, in lower case. */
export async function deriveWalletAddress(publicKey: string, index: number): Promise<string> {
  const evm = await loadEvm()
  return evm.deriveAddress(publicKey, index)
}

/** Returns the address whose key has signed a personal message (EIP-191), in lower case; undefined if it is not a signature. */
export async function recoverMessageSigner(message: string, signature: string): Promise<string | undefined> {
  const evm = await loadEvm()
  return evm.recoverSigner(message, signature)
}
