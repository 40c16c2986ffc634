/** Addresses of EVM chains: form, check sum (EIP-55), and those to which no token may be sent. */
import { createHash } from 'node:crypto'

const form = /^0x[0-9a-fA-F]{40}$/
export const zeroAddress = `0x${'0'.repeat(40)}`

const keccak256 = (text: string): string => createHash('keccak-256').update(text).digest('hex')

/** The address as it is shown: a letter is a capital if the digit of its hash is 8 or more (EIP-55). */
export function checksummed(address: string): string {
  const digits = address.slice(2).toLowerCase()
  const marks = keccak256(digits)
  const letters = Array.from(digits, (digit, index) =>
    Number.parseInt(marks.charAt(index), 16) >= 8 ? digit.toUpperCase() : digit,
  )
  return `0x${letters.join('')}`
}

/** The problem of an address text. Letters of one case only carry no check sum. */
export function addressProblem(text: string): 'form' | 'checksum' | undefined {
  if (!form.test(text)) return 'form'
  const letters = text.slice(2)
  if (letters === letters.toLowerCase() || letters === letters.toUpperCase()) return undefined
  return checksummed(text) === text ? undefined : 'checksum'
}
