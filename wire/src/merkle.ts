/** Merkle trees: RFC 9162, section 2.1 (SHA-256, 0x00 before leaves, 0x01 before nodes). */
import { hash } from 'node:crypto'

export const sha256 = (...parts: readonly Uint8Array[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer')

const prefixes = { leaf: Buffer.of(0), node: Buffer.of(1) } as const

/** Computes the hash of a leaf's text, such as a record. */
export const leafHash = (content: string): Buffer => sha256(prefixes.leaf, Buffer.from(content))
const nodeOf = (left: Uint8Array, right: Uint8Array): Buffer => sha256(prefixes.node, left, right)

/** Returns the largest power of two below `count`, which is at least 2. */
const splitOf = (count: number): number => 2 ** (31 - Math.clz32(count - 1))

/** Computes the root of a tree. Throws a TypeError for an empty tree. */
export function merkleRoot(hashes: readonly Uint8Array[]): Uint8Array {
  const [first] = hashes
  if (first === undefined) throw new TypeError('an empty tree has no root')
  if (hashes.length === 1) return first
  const split = splitOf(hashes.length)
  return nodeOf(merkleRoot(hashes.slice(0, split)), merkleRoot(hashes.slice(split)))
}

/** Computes the sibling hashes on the path from a leaf to the root, lowest first. */
export function inclusionPath(hashes: readonly Uint8Array[], index: number): readonly Uint8Array[] {
  if (hashes.length < 2) return []
  const split = splitOf(hashes.length)
  const [left, right] = [hashes.slice(0, split), hashes.slice(split)]
  return index < split
    ? [...inclusionPath(left, index), merkleRoot(right)]
    : [...inclusionPath(right, index - split), merkleRoot(left)]
}

/** Reports whether a leaf is in the tree with this root (RFC 9162, section 2.1.3.2). */
export function isInTree(
  root: Uint8Array,
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): boolean {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return false
  let [at, last, hash] = [index, size - 1, leaf]
  for (const beside of path) {
    if (last === 0) return false
    if (at % 2 === 1 || at === last) {
      hash = nodeOf(beside, hash)
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)]
    } else hash = nodeOf(hash, beside)
    ;[at, last] = [Math.floor(at / 2), Math.floor(last / 2)]
  }
  return last === 0 && Buffer.from(root).equals(hash)
}

export type MerkleTree = {
  readonly root: Uint8Array
  /** The path of each leaf: the sibling hashes, lowest first. */
  readonly paths: readonly (readonly Uint8Array[])[]
}

/** Computes the root and the paths of all leaves. Hashes each node once. */
export function merkleTree(hashes: readonly Uint8Array[]): MerkleTree {
  const [first] = hashes
  if (first === undefined) throw new TypeError('an empty tree has no root')
  if (hashes.length === 1) return { root: first, paths: [[]] }
  const split = splitOf(hashes.length)
  const [left, right] = [merkleTree(hashes.slice(0, split)), merkleTree(hashes.slice(split))]
  const under = (tree: MerkleTree, beside: MerkleTree) => tree.paths.map((path) => [...path, beside.root])
  return { root: nodeOf(left.root, right.root), paths: [...under(left, right), ...under(right, left)] }
}
