/**
 * Wraps the functions of `viem` that this service uses, with plain values. Only this file imports the package. It is
 * loaded at its first use (`loadEvm`), so that an API process without wallet requests saves 30 MB.
 */
import { ECDH } from 'node:crypto'
import { HDKey, privateKeyToAddress, publicKeyToAddress, sign } from 'viem/accounts'
import {
  encodeFunctionData,
  keccak256,
  parseAbi,
  parseTransaction,
  recoverMessageAddress,
  recoverTransactionAddress,
  serializeTransaction,
  type TransactionSerializedEIP1559,
} from 'viem'
import { assert } from '../../kernel/index.ts'

type Hex = `0x${string}`
export const asHex = (text: string): Hex => {
  assert(text.startsWith('0x'), 'hexadecimal digits begin with 0x')
  return text as Hex
}

const erc20 = parseAbi(['function transfer(address to, uint256 amount) returns (bool)'])

export type UnsignedTransfer = {
  readonly chainId: number
  readonly contract: string
  readonly recipient: string
  readonly amount: bigint
  readonly nonce: number
  readonly gas: bigint
  readonly feeMax: bigint
  readonly feePriority: bigint
}

/** The numbers of a secp256k1 signature, `s` in the lower half (EIP-2), and the recovery bit. */
export type Secp256k1Signature = { readonly r: string; readonly s: string; readonly yParity: 0 | 1 }

export const transferData = (recipient: string, amount: bigint): string =>
  encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [asHex(recipient), amount] })

/** Signs an ERC-20 transfer. The signer only receives its hash. */
export async function signTransfer(
  { chainId, contract, recipient, amount, nonce, gas, feeMax, feePriority }: UnsignedTransfer,
  signHash: (hash: string) => Promise<Secp256k1Signature>,
): Promise<{ readonly signed: string; readonly hash: string }> {
  const transaction = {
    type: 'eip1559',
    chainId,
    nonce,
    to: asHex(contract),
    data: asHex(transferData(recipient, amount)),
    gas,
    maxFeePerGas: feeMax,
    maxPriorityFeePerGas: feePriority,
  } as const
  const { r, s, yParity } = await signHash(keccak256(serializeTransaction(transaction)))
  const signed = serializeTransaction(transaction, { r: asHex(r), s: asHex(s), yParity })
  return { signed, hash: keccak256(signed) }
}

/** Reads a signed transaction, as a node does. */
export async function readTransaction(signed: string) {
  const { chainId, to, data = '0x', nonce = 0 } = parseTransaction(asHex(signed) as TransactionSerializedEIP1559)
  const sender = await recoverTransactionAddress({
    serializedTransaction: asHex(signed) as TransactionSerializedEIP1559,
  })
  return {
    chainId,
    contract: (to ?? '').toLowerCase(),
    data,
    nonce,
    sender: sender.toLowerCase(),
    hash: keccak256(asHex(signed)),
  }
}

export async function signWithPrivateKey(hash: string, privateKey: string): Promise<Secp256k1Signature> {
  const { r, s, yParity } = await sign({ hash: asHex(hash), privateKey: asHex(privateKey) })
  return { r, s, yParity: yParity === 1 ? 1 : 0 }
}

export const privateKeyAddress = (privateKey: string): string => privateKeyToAddress(asHex(privateKey)).toLowerCase()

/** BIP-44 for Ethereum, hardened down to the account, so that addresses can be derived from the account's public key. */
const accountPath = "m/44'/60'/0'/0"

export function accountKeys(seed: Uint8Array): { readonly publicKey: string; readonly privateKey: string } {
  const account = HDKey.fromMasterSeed(seed).derive(accountPath)
  return { publicKey: account.publicExtendedKey, privateKey: account.privateExtendedKey }
}

/** Derives the address with this index from an extended public key. */
export function deriveAddress(publicKey: string, index: number): string {
  const child = HDKey.fromExtendedKey(publicKey).deriveChild(index)
  assert(child.publicKey, 'a derived key has a public part')
  const point = ECDH.convertKey(child.publicKey, 'secp256k1', undefined, 'hex', 'uncompressed')
  return publicKeyToAddress(`0x${String(point)}`).toLowerCase()
}

/** Returns the address whose key has signed a personal message (EIP-191), in lower case; undefined if it is not a signature. */
export const recoverSigner = async (message: string, signature: string): Promise<string | undefined> =>
  recoverMessageAddress({ message, signature: asHex(signature) }).then(
    (address) => address.toLowerCase(),
    () => undefined,
  )
