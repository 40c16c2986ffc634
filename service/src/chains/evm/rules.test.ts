import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressProblem, checksumAddress } from '../../rails/index.ts'
import { firstFees, nextFees, numberLogs, explainRevert } from './rules.ts'
import { evmSettings } from './settings.ts'
import { accountKeys, privateKeyAddress, deriveAddress } from './viem.ts'

test('address checksums follow EIP-55', () => {
  // The examples of EIP-55.
  for (const address of [
    '0x52908400098527886E0F7030069857D2E4169EE7',
    '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
    '0xde709f2102306220921060314715629080e2fb77',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ]) {
    assert.equal(checksumAddress(address.toLowerCase()), address)
    assert.equal(addressProblem(address), undefined)
  }
  assert.equal(addressProblem('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'), 'checksum')
  for (const text of ['', '0x', 'x'.repeat(42), `0x${'0'.repeat(39)}`, `0x${'0'.repeat(41)}`, `0x${'g'.repeat(40)}`])
    assert.equal(addressProblem(text), 'form', text)
})

test('addresses are derived by BIP-32 from the public key, as wallets derive them from the private one', () => {
  // The seed of BIP-39 for "test test test test test test test test test test test junk", and its first accounts.
  const seed = Buffer.from(
    '9dfc3c64c2f8bede1533b6a79f8570e5943e0b8fd1cf77107adf7b72cef42185d564a3aee24cab43f80e3c4538087d70fc824eabbad596a23c97b6ee8322ccc0',
    'hex',
  )
  const { publicKey, privateKey } = accountKeys(seed)
  assert.equal(checksumAddress(deriveAddress(publicKey, 0)), '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
  assert.equal(checksumAddress(deriveAddress(publicKey, 1)), '0x70997970C51812dc3A010C7d01b50e0d17dc79C8')
  assert.ok(publicKey.startsWith('xpub') && privateKey.startsWith('xprv'))
  assert.equal(
    checksumAddress(privateKeyAddress('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')),
    '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  )
})

test('the fees of a replacement are at least an eighth higher, at least those of the chain, and at most the limit', () => {
  const fees = fc.record({ max: fc.bigInt(1n, 10n ** 12n), priority: fc.bigInt(0n, 10n ** 11n) })
  fc.assert(
    fc.property(fees, fees, fc.bigInt(1n, 10n ** 13n), (last, now, feeMax) => {
      const next = nextFees(last, now, feeMax)
      if (next === undefined) return
      assert.ok(next.max <= feeMax && next.priority <= next.max)
      assert.ok(next.max * 8n >= last.max * 9n && next.max >= now.max)
      const first = firstFees(now, feeMax)
      assert.ok(first.max <= feeMax && first.priority <= first.max)
    }),
  )
})

test('a transfer keeps its id wherever its transaction is mined, and equal transfers have different ids', () => {
  const log = {
    currency: 'USDC',
    from: '0xa',
    to: '0xb',
    amount: 5n,
    transactionHash: '0x1',
    blockNumber: 7,
    blockHash: '0xc',
    index: 3,
  } as const
  const [first, second] = numberLogs('evm-1', [log, { ...log, index: 4 }])
  const [moved] = numberLogs('evm-1', [{ ...log, blockNumber: 9, blockHash: '0xd', index: 0 }])
  assert.equal(moved?.id, first?.id)
  assert.notEqual(second?.id, first?.id)
  assert.notEqual(numberLogs('evm-2', [log])[0]?.id, first?.id)
})

test('the error of a contract decides whether a payment can succeed later', () => {
  assert.equal(explainRevert('execution reverted: Blacklistable: account is blacklisted')?.errorKey, 'RecipientBlocked')
  assert.equal(explainRevert('execution reverted: Pausable: paused'), undefined)
  assert.equal(explainRevert('ERC20: transfer amount exceeds balance'), undefined)
  assert.equal(explainRevert('execution reverted')?.errorKey, 'BankRejection')
})

const chain = {
  chainId: 8453,
  network: 'base',
  rpcUrls: ['https://one.example', 'https://two.example'],
  tokens: { USDC: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' },
  confirmations: 12,
  maxFeeGwei: 5,
}
const read = (...chains: readonly object[]) => evmSettings.EVM_CHAINS.read(JSON.stringify(chains))

test('EVM_CHAINS reads chains from the text or from a file', () => {
  const [config] = read({ ...chain, minimumDeposit: { USDC: '0.5' } })
  assert.deepEqual(
    [config?.tokens, config?.feeMax, config?.depositMin, config?.pollMs],
    [{ USDC: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' }, 5_000_000_000n, { USDC: 500_000n }, 2000],
  )
  assert.deepEqual([evmSettings.EVM_CHAINS.read(undefined), evmSettings.EVM_CHAINS.read(' ')], [[], []])
  assert.throws(() => evmSettings.EVM_CHAINS.read('/no/such/file'), /a readable file/)
  assert.throws(() => evmSettings.EVM_CHAINS.read('[{'), /must be JSON/)
})

for (const [what, change, reason] of [
  ['a wrong check sum', { tokens: { USDC: '0x833589FCD6eDb6E08f4c7C32D4f71b54bdA02913' } }, /checksum/],
  ['the zero address', { tokens: { USDC: `0x${'0'.repeat(40)}` } }, /contract address of USDC/],
  ['fiat money', { tokens: { EUR: chain.tokens.USDC } }, /EUR is not one/],
  [
    'one contract for two tokens',
    { tokens: { USDC: chain.tokens.USDC, EURC: chain.tokens.USDC } },
    /a different contract/,
  ],
  ['no token', { tokens: {} }, /tokens/],
  ['no node', { rpcUrls: [] }, /rpcUrls/],
  ['the same node twice', { rpcUrls: ['https://one.example', 'https://one.example'] }, /different URLs/],
  ['no URL', { rpcUrls: ['one'] }, /rpcUrls/],
  ['no confirmations', { confirmations: 0 }, /confirmations/],
  ['a fee as text', { maxFeeGwei: '5' }, /maxFeeGwei/],
  ['a misspelt field', { confirmation: 3 }, /not have the field confirmation:/],
  ['a minimum with too many digits', { minimumDeposit: { USDC: '0.0000001' } }, /6 decimal digits/],
  ['a network with capitals', { network: 'Base' }, /network/],
] as const)
  test(`EVM_CHAINS refuses ${what}`, () => assert.throws(() => read({ ...chain, ...change }), reason))

test('EVM_CHAINS refuses a chain id twice', () => assert.throws(() => read(chain, chain), /each chain id once/))
