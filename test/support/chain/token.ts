/**
 * An ERC-20 token for tests, assembled here from EVM instructions, because no compiler is installed. `token.test.ts` checks
 * what it does. The balance of an address is in the storage slot of its number; slot 2^255 + address says that it is blocked.
 *
 * `transfer` moves tokens and logs `Transfer`. It refuses a blocked recipient with the text of USDC, and an amount above the
 * balance. It refuses `failingAmount` only in a block, not in an estimate, where gas has no price. `mint` and `block` are
 * open to all.
 */
import { asHex } from '../../../service/src/chains/evm/viem.ts'

/** Refused when the transaction is mined. */
export const failingAmount = 4001_010000n

const selectors = { transfer: 'a9059cbb', balanceOf: '70a08231', mint: '40c10f19', block: '45596e2e' } as const
const transferTopic = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const opcodes: Readonly<Record<string, string>> = { ADD: '01', SUB: '03', LT: '10', EQ: '14', ISZERO: '15', AND: '16', OR: '17', SHL: '1b', SHR: '1c', CALLER: '33',
  CALLDATALOAD: '35', GASPRICE: '3a', MSTORE: '52', SLOAD: '54', SSTORE: '55', JUMPI: '57', DUP1: '80', LOG3: 'a3',
  RETURN: 'f3', REVERT: 'fd',
} // prettier-ignore

/** One word is an instruction, `#…` pushes hexadecimal digits, `:name` is a place to jump to, `@name` pushes that place. */
function assemble(program: string): string {
  const words = program.split(/\s+/).filter(Boolean)
  const size = (word: string) => (word.startsWith('#') ? word.length / 2 + 0.5 : word.startsWith('@') ? 3 : 1)
  const places = new Map<string, number>()
  let at = 0
  for (const word of words) {
    if (word.startsWith(':')) places.set(word.slice(1), at)
    at += size(word)
  }
  return words
    .map((word) => {
      if (word.startsWith(':')) return '5b'
      if (word.startsWith('@')) return `61${(places.get(word.slice(1)) ?? 0).toString(16).padStart(4, '0')}`
      if (word.startsWith('#')) return `${(0x5f + (word.length - 1) / 2).toString(16)}${word.slice(1)}`
      const opcode = opcodes[word]
      if (opcode === undefined) throw new Error(`no instruction ${word}`)
      return opcode
    })
    .join('')
}

/** Reverts as Solidity does with a text: `Error(string)`. */
function revertWith(text: string): string {
  const digits = [
    '08c379a0',
    (32).toString(16).padStart(64, '0'),
    text.length.toString(16).padStart(64, '0'),
    Buffer.from(text).toString('hex').padEnd(64, '0'),
  ].join('')
  const words = Array.from({ length: 4 }, (_none, index) => digits.slice(index * 64, index * 64 + 64).padEnd(64, '0'))
  return `${words.map((word, index) => `#${word} #${(index * 32).toString(16).padStart(2, '0')} MSTORE`).join(' ')} #64 #00 REVERT`
}

const argument = { first: '#04 CALLDATALOAD', second: '#24 CALLDATALOAD' }
const returnTrue = '#01 #00 MSTORE #20 #00 RETURN'
/** Adds the second argument to the balance of the first, and logs the transfer from `from`. */
const credit = (from: string) => `
  ${argument.second} ${argument.first} SLOAD ADD ${argument.first} SSTORE
  ${argument.second} #00 MSTORE ${argument.first} ${from} #${transferTopic} #20 #00 LOG3 ${returnTrue}`
const blockedSlot = (address: string) => `${address} #01 #ff SHL OR`

const dispatch = Object.entries(selectors)
  .map(([name, selector]) => `DUP1 #${selector} EQ @${name} JUMPI`)
  .join(' ')

export const tokenCode = asHex(
  `0x${assemble(`
  #00 CALLDATALOAD #e0 SHR ${dispatch}
  :fail #00 DUP1 REVERT
  :balanceOf ${argument.first} SLOAD #00 MSTORE #20 #00 RETURN
  :mint ${credit('#00')}
  :block #01 ${blockedSlot(argument.first)} SSTORE ${returnTrue}
  :transfer
    ${blockedSlot(argument.first)} SLOAD @blocked JUMPI
    ${argument.second} #${failingAmount.toString(16).padStart(16, '0')} EQ GASPRICE ISZERO ISZERO AND @fail JUMPI
    ${argument.second} CALLER SLOAD LT @poor JUMPI
    ${argument.second} CALLER SLOAD SUB CALLER SSTORE
    ${credit('CALLER')}
  :blocked ${revertWith('Blacklistable: is blacklisted')}
  :poor ${revertWith('amount exceeds balance')}`)}`,
)

const word = (value: string | bigint) =>
  (typeof value === 'bigint' ? value.toString(16) : value.slice(2).toLowerCase()).padStart(64, '0')

/** The data of a call to the token. */
export const callData = (name: keyof typeof selectors, ...values: readonly (string | bigint)[]): string =>
  `0x${selectors[name]}${values.map(word).join('')}`
