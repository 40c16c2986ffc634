/** Decides whether a name is on the lists in memory. Caches names: frequent payers recur. */
import type { NameIndex } from './index-of-names.ts'

const rememberedMax = 10_000

export function createMatches(scoreMin: number) {
  let remembered = new Map<string, boolean>()
  let generationOf = 0
  return <Entry>(
    { generation, index }: { readonly generation: number; readonly index: NameIndex<Entry> },
    name: string,
  ): boolean => {
    if (generation !== generationOf || remembered.size >= rememberedMax) remembered = new Map()
    generationOf = generation
    const known = remembered.get(name)
    if (known !== undefined) return known
    const isFound = index.search(name, scoreMin).length > 0
    remembered.set(name, isFound)
    return isFound
  }
}
