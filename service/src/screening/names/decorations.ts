/**
 * Words around a name that do not identify the person: forms of address, words for an account, legal forms, places and years.
 * Legal forms come from ISO 20275 (GLEIF's list of entity legal forms 1.5, by their abbreviations), grouped by language.
 */
import anyAscii from 'any-ascii'

/** `name`: the word may be part of a name. */
export type WordKind = 'name' | 'title' | 'account' | 'legal form' | 'place' | 'number' | 'conjunction'

const wordsIn = (lines: readonly string[]): readonly string[] => lines.flatMap((line) => line.split(' '))

/** Forms of address, academic and other titles, and words for kin. */
const titles = wordsIn([
  'herr herrn frau fraulein hrn fr dipl ing mag med phil jur rer nat pol oec habil prof professor univ doz dozent dozentin lic bsc msc mba phd',
  'eheleute ehepaar familie fam erben erbengemeinschaft witwe geb geborene verw jun jr sen snr senior junior rechtsanwalt rechtsanwaltin ra notar',
  'mister mistress mss mx esq esquire messrs rev reverend hon honourable lord lady dame capt captain maj lt sgt family heirs estate late',
  'monsieur madame mademoiselle messieurs mesdames mme mlle mm maitre docteur famille epoux veuve heritiers succession nee',
  'signor signora signorina signore sig sigra dott dottor dottore dottoressa dssa avv avvocato ingegnere arch geom rag cav famiglia eredi',
  'senor senora senorita sr sra srta srs sres don dona doctor doctora doutor doutora licenciado lcdo lcda ingeniero familia herederos viuda vda',
  'senhor senhora menina exmo exma eng engenheiro herdeiros',
  'dhr mevr mw mej mevrouw meneer heer heren ir drs dra mr fam erven weduwe wed',
  'hr fru froken herre fr frk arvinger dodsbo cand civilingenior',
  'herra rouva neiti pan pani panowie panstwo panna inz mgr doc pana panie rodzina spadkobiercy',
  'pani slecna ingr judr mudr rndr phdr mvdr paeddr manzele rodina bc csc drsc',
  'gospodin gospodja gospoda gospa gospod g-din tov tovarishch grazhdanin pan panna semya',
  'ur urholgy holgy kisasszony ozv ifj id dr-ne csalad',
  'domnul domnisoara doamna dl dna familia domnu kyrios kyria kurios kuria k-os bay bayan beyefendi hanim',
  'kungiene ponas ponia ponai kungs kundze jaunkundze harra proua zoti zonja znj gdin gda vlasnik',
])
/** Words that name an account, its owner, its purpose, or the person who receives it. */
const accounts = wordsIn([
  'konto konten kontoinhaber kontonummer kto girokonto sparkonto empfanger inhaber zahlungsempfanger auftraggeber zhd hd zhdn treuhandkonto',
  'account accounts acct acc acctno owner holder beneficiary benef attn attention payee payer client escrow iban bic swift ref',
  'compte titulaire beneficiaire attention conto intestato intestatario beneficiario cuenta titular conta rekening rekeninghouder tnv tav',
  'rachunek odbiorca wlasciciel ucet kontoinnehavare mottagare tili tilinomistaja szamla kedvezmenyezett cont schet smetka racun hesap',
  'firma fa filiale zweigniederlassung niederlassung zweigstelle branch succursale sucursal filial oddzial pobocka agence agencia office buro',
])
const conjunctions = wordsIn(['und oder and or et ou og och eller ja tai ve veya oraz lub nebo ili vagy sau dhe kai'])

/** Legal forms that are never names of people. */
const forms = wordsIn([
  'gmbh ggmbh mbh ug haftungsbeschrankt haftungsbeschraenkt kgaa ohg gbr partg partgmbb mbb ewiv eingetragene eingetragener kauffrau kaufmann genossenschaft',
  'ltd limited unlimited unltd plc llc llp lllp pllc pllp pbc ulc cic clg dac uc incorporated corporation corp inc company lda ltda eireli eirl unipessoal',
  'pty pte pvt private proprietary sdn bhd tbk persero dmcc dwc difc adgm fz fze fzc fzco fzllc wll spc bsc saoc saog psc pjsc ojsc cjsc jsc',
  'sarl sarlu suarl sas sasu eurl snc sca scs sci scm scp scop selarl selas eirl gie sprl bvba srl srls scrl asbl aisbl vzw ivzw cvba comm sicav sicaf',
  'spa sapa soccoop slu slne sll sau sal slp scl cooperativa cooperative coop anonima anonyme responsabilite responsabilidad limitada',
  'nv bv vof stichting besloten vennootschap naamloze aps amba smba kommanditselskab ivs asa ans abp oyj kommandiittiyhtio handelsbolag aktiebolag',
  'spzoo zoo spolka spk spj sp sro vos kft kkt zrt nyrt rt uab tub sia osk ood eood ead kda dno doo jdoo dioo kdd shpk sha',
  'epe ike oee monoprosopi ooo oao zao pao nao tov prat pat tdv ooo too mmc teo ltdsti sti ticaret sirketi komandit kollektif',
  'tov odo chup kaisha kabushiki godo yugen kk gk yk corporativo sapi sofom pma pmdn ehf hf ohf slhf jednatel druzstvo osauhing',
])
/** Legal forms that may also be names. They count only at the edge of a name with at least two other words. */
const formsOrNames = wordsIn([
  'ag kg og ev ek eg se sc ei ip sl sa ab as oy ky ou mtu tu fie ks bt ec ks is ik vs mb ii ad ed et sd kd dd td sh dt da ba cv va pt cv ud tp up',
  'reit trust fund stiftung foundation fundacion fondazione fondation gie lp gp llp pc na np rl ltee hb esv unp zu sam sem sat',
])

/** Phrases, and single letters with full stops between them. */
const phrases = new RegExp(
  ` (?:${[
    'gesellschaft mit beschrankter haftung|aktiengesellschaft|kommanditgesellschaft|besloten vennootschap',
    'limited liability company|(?:public |open |closed )?joint stock company|incorporated company',
    'sociedad anonima|sociedad de responsabilidad limitada|societe anonyme|societa per azioni|societe a responsabilite limitee',
    'obshchestvo s ogranichenno[iy] otvetstvennost(?:yu|iu|u)|(?:publichnoe |publichnoye )?aktsionerno(?:e|ye) obshchestvo',
    'spolka z ograniczona odpowiedzialnoscia|spolecnost s rucenim omezenym|drustvo s ogranicenom odgovornoscu|societa a responsabilita limitata',
    'sp z o o|sp z oo|z o o|spol s r o|s r o|v o s|d o o|d d|a s|s a r l|s a s|s a u|s a|s p a|s r l s|s r l|s n c|s c a|s l u|s l l|s l',
    's p r de r l|s c de r l|s de r l|s a p i|c i|de c v|sa de cv|s de rl|l l c|l l p|l p|p? ?j s c|b v b a|b v|n v|v o f|a g|a/s|k g|o h g|o o o|o y|k k|e k|e v|e g|e u',
    'w l l|p l c|p t|p s c|o a o|z a o|a d|e o o d|o o d|sh p k|sh a|i k e|e p e|fz llc|mtu|s e|c i c|ltda|as sirketi|ltd sti|a o',
    'c o|z h d|z hd|z hdn|z h|i f|a c|p a|t a v|t n v|in vertretung|in care of|on behalf of|account of|dipl ing|dr ing|dr med|g din',
  ].join('|')})(?= )`,
  'g',
)
export const withoutPhrases = (all: readonly string[]): readonly string[] =>
  ` ${all.join(' ')} `.replace(phrases, '').trim().split(' ')

/** Minimum length of a word of a place. */
const placeCharsMin = 4
const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'sv', 'ru']
const alphabet = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ')
/** Lists words of places: countries from the Unicode CLDR, cities of the time zones, and other large cities. */
function placeWords(): readonly string[] {
  const codes = alphabet.flatMap((first) => alphabet.map((second) => first + second))
  const countries = languages.flatMap((language) => {
    const names = new Intl.DisplayNames(language, { type: 'region', fallback: 'none' })
    return codes.map((code) => names.of(code) ?? '')
  })
  const cities = Intl.supportedValuesOf('timeZone').map((zone) => zone.split('/').at(-1) ?? '')
  return anyAscii([...countries, ...cities].join(' '))
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word.length >= placeCharsMin)
}
const cities = wordsIn([
  'hamburg munchen muenchen munich koln koeln cologne frankfurt stuttgart dusseldorf duesseldorf leipzig dresden hannover nurnberg bremen essen dortmund',
  'wien graz linz salzburg innsbruck zurich zuerich genf geneve geneva basel bern lausanne lyon marseille toulouse nantes strasbourg bordeaux lille nice',
  'milano milan roma rome torino turin napoli naples genova firenze venezia bologna barcelona valencia sevilla bilbao malaga lisboa lisbon porto',
  'amsterdam rotterdam utrecht eindhoven haag antwerpen antwerp gent brussel bruxelles brussels luxembourg manchester birmingham liverpool leeds glasgow edinburgh',
  'warszawa warsaw krakow lodz wroclaw poznan gdansk praha prague brno bratislava kosice budapest bucuresti bucharest cluj sofia plovdiv varna beograd belgrade',
  'kobenhavn copenhagen aarhus goteborg gothenburg malmo stockholm oslo bergen helsinki tampere tallinn riga vilnius kaunas ljubljana zagreb sarajevo skopje',
  'moskva moscow petersburg kyiv kiev odessa kharkiv lviv minsk athina athens thessaloniki istanbul ankara izmir dubai sharjah doha riyadh jeddah kuwait manama',
  'beirut damascus amman cairo alexandria tripoli tunis casablanca lagos abuja nairobi johannesburg mumbai delhi karachi lahore kabul tehran teheran tashkent almaty',
  'beijing peking shanghai shenzhen guangzhou hongkong taipei seoul busan tokyo osaka singapore jakarta bangkok hanoi manila sydney melbourne toronto montreal vancouver',
  'york boston chicago houston miami dallas seattle washington angeles francisco mexico bogota medellin lima quito caracas santiago buenos aires paulo rio janeiro',
])

type Decoration = { readonly kind: WordKind; readonly isSure: boolean }

const decorations = new Map<string, Decoration>(
  (
    [
      ['place', true, [...placeWords(), ...cities]],
      ['legal form', false, formsOrNames],
      ['title', true, titles],
      ['account', true, accounts],
      ['conjunction', true, conjunctions],
      ['legal form', true, forms],
    ] as const
  ).flatMap(([kind, isSure, words]) => words.map((word) => [word, { kind, isSure }] as const)),
)
const asName: Decoration = { kind: 'name', isSure: true }
const asNumber: Decoration = { kind: 'number', isSure: true }

/** Returns the kind of a word next to a name. `isSure`: it cannot also be a person's name. */
export const findDecoration = (word: string): Decoration =>
  decorations.get(word) ?? (/^\d+$/.test(word) ? asNumber : asName)

/** Signs and words between two people or companies. Single letters such as `y` and `i` must stand alone. */
const between =
  /\s*[&/;+|\n]\s*|\s+(?:und|oder|and|or|et|ou|og|och|eller|ve|veya|oraz|lub|nebo|ili|vagy|sau|y|i|e|o|u|и|или|و)\s+/iu
/** Maximum number of people and companies. A text of 280 characters does not name more. */
const partsMax = 150

/** Splits a text into the people and companies that it names, by signs, by commas and by both. Empty: it names only one. */
export function splitParties(text: string): readonly string[] {
  const parts = text.split(between).filter((part) => part.trim() !== '')
  const byComma = (each: string) => each.split(',').filter((part) => part.trim().includes(' '))
  const comma = byComma(text)
  const both = parts.length > 1 && comma.length > 1 ? parts.flatMap(byComma) : []
  const named = [...(parts.length > 1 ? parts : []), ...(comma.length > 1 ? comma : []), ...both]
  return [...new Set(named)].slice(0, partsMax)
}
