/** A real chain for tests: anvil from npm, with two tokens. It makes blocks only when a test says so. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { TokenContracts } from '../../../service/src/rails/index.ts'
import { until } from '../until.ts'
import { callData, tokenCode } from './token.ts'

const binary = fileURLToPath(new URL('../../../node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', import.meta.url))

export const testChainId = 31_337
export const contracts = {
  USDC: `0x${'c0'.repeat(20)}`,
  EURC: `0x${'e0'.repeat(20)}`,
} as const satisfies TokenContracts
/** A token that is not configured. */
export const strangeContract = `0x${'5a'.repeat(20)}`
const etherWei = 10n ** 18n

export type Anvil = {
  readonly url: string
  readonly rpc: <T = string>(method: string, ...parameters: readonly unknown[]) => Promise<T>
  readonly mine: (blocks?: number) => Promise<void>
  readonly head: () => Promise<number>
  /** Gives an address tokens, and gas. */
  readonly fund: (address: string, amount: bigint, currency?: keyof typeof contracts) => Promise<void>
  /** Sends a call from any address, without a block. Answers the hash. */
  readonly send: (from: string, to: string, data: string) => Promise<string>
  /** Sends tokens from any address, without a block. */
  readonly transfer: (from: string, to: string, amount: bigint, contract?: string) => Promise<string>
  readonly balance: (address: string, currency?: keyof typeof contracts) => Promise<bigint>
  readonly stop: () => Promise<void>
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function callRpc<T>(url: string, method: string, params: readonly unknown[]): Promise<T> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  const { result, error } = (await response.json()) as { readonly result: T; readonly error?: unknown }
  assert.equal(error, undefined, `${method}: ${JSON.stringify(error)}`)
  return result
}

/** The chain of another process. */
export const connectAnvil = (url: string, stop: () => Promise<void> = async () => undefined): Anvil => {
  const rpc: Anvil['rpc'] = (method, ...parameters) => callRpc(url, method, parameters)
  const send: Anvil['send'] = async (from, to, data) => {
    await rpc('anvil_setBalance', from, `0x${etherWei.toString(16)}`)
    return rpc('eth_sendTransaction', { from, to, data, gas: '0x30d40', gasPrice })
  }
  const mine: Anvil['mine'] = async (blocks = 1) => void (await rpc('anvil_mine', `0x${blocks.toString(16)}`))
  return {
    url,
    rpc,
    mine,
    send,
    head: async () => Number(await rpc('eth_blockNumber')),
    fund: async (address, amount, currency = 'USDC') => {
      await send(minter, contracts[currency], callData('mint', address, amount))
      await mine()
      await rpc('anvil_setBalance', address, `0x${(1000n * etherWei).toString(16)}`)
    },
    transfer: (from, to, amount, contract = contracts.USDC) => send(from, contract, callData('transfer', to, amount)),
    balance: async (address, currency = 'USDC') =>
      BigInt(await rpc('eth_call', { to: contracts[currency], data: callData('balanceOf', address) }, 'latest')),
    stop,
  }
}

export async function startAnvil(): Promise<Anvil> {
  const port = await freePort()
  const options = ['--silent', '--no-mining', '--port', String(port), '--chain-id', String(testChainId)]
  const child = spawn(binary, [...options, '--accounts', '1'], { stdio: 'ignore' })
  const anvil = connectAnvil(`http://127.0.0.1:${port}`, async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  await until('anvil answers', () => anvil.rpc('eth_chainId').then(Boolean, () => false))
  for (const contract of [...Object.values(contracts), strangeContract])
    await anvil.rpc('anvil_setCode', contract, tokenCode)
  await anvil.rpc('anvil_autoImpersonateAccount', true)
  return anvil
}

/** Fixed, so that the same call with the same nonce is the same transaction. */
const gasPrice = `0x${(100n * 10n ** 9n).toString(16)}`
const minter = `0x${'a1'.repeat(20)}`
