/**
 * The most common given and family names of thirty countries, in Latin letters as people there write them. Public knowledge; checked against the
 * family names of github.com/sigpwned/popular-names-by-country-dataset (its given names are those of newborns). A person with two such names is
 * almost never the listed person.
 */
import { phoneticForm } from '../names/spelling.ts'
import { nameWords } from '../names/words.ts'
import { createRandom, pick, mixSeed } from './forms.ts'

type CountryNames = { readonly given: string; readonly family: string; readonly isFamilyFirst?: true }

const names: Readonly<Record<string, CountryNames>> = {
  BD: {
    given: `Mohammad Abdul Rahim Karim Hasan Rakib Sakib Tanvir Imran Arif Jahangir Kamal Nazrul Shafiqul Rafiqul Mizanur Fatema Ayesha
      Nusrat Sadia Farhana Taslima Nasrin Sharmin Sultana Rehana Shirin Salma Rokeya Jannatul`,
    family: `Islam Hossain Rahman Ahmed Khan Begum Akter Khatun Uddin Ali Alam Miah Chowdhury Sarkar Sheikh Haque Das Roy Molla Mia
      Biswas Siddique Talukder Bhuiyan Karim Mahmud Hasan Khanam Parvin Paul`,
  },
  BR: {
    given: `José João Antônio Francisco Carlos Paulo Pedro Lucas Luiz Marcos Luís Gabriel Rafael Daniel Marcelo Bruno Maria Ana Francisca
      Antônia Adriana Juliana Márcia Fernanda Patrícia Aline Sandra Camila Amanda Bruna`,
    family: `Silva Santos Oliveira Souza Rodrigues Ferreira Alves Pereira Lima Gomes Costa Ribeiro Martins Carvalho Almeida Lopes Soares
      Fernandes Vieira Barbosa Rocha Dias Nascimento Andrade Moreira Nunes Marques Machado Mendes Freitas`,
  },
  CN: {
    given: `Wei Fang Na Xiuying Min Jing Li Qiang Lei Jun Yang Yong Yan Jie Juan Tao Ming Chao Xiulan Xia Ping Gang Guiying Jianguo
      Jianhua Zhiqiang Haiyan Xiaoming Yuhan Zihan`,
    family: `Wang Li Zhang Liu Chen Yang Zhao Huang Zhou Wu Xu Sun Hu Zhu Gao Lin He Guo Ma Luo Liang Song Zheng Xie Han Tang Feng Yu
      Dong Xiao`,
    isFamilyFirst: true,
  },
  CZ: {
    given: `Jiří Jan Petr Josef Pavel Martin Tomáš Jaroslav Miroslav Zdeněk Václav František Karel Lukáš Michal Jakub Marie Jana Eva Hana
      Anna Věra Lenka Alena Kateřina Petra Lucie Jaroslava Ludmila Helena`,
    family: `Novák Svoboda Novotný Dvořák Černý Procházka Kučera Veselý Horák Němec Pokorný Marek Pospíšil Hájek Jelínek Král Růžička
      Beneš Fiala Sedláček Nováková Svobodová Novotná Dvořáková Černá Procházková Kučerová Veselá Horáková Němcová`,
  },
  DE: {
    given: `Peter Michael Thomas Andreas Wolfgang Klaus Jürgen Günter Stefan Christian Uwe Werner Horst Frank Dieter Manfred Ursula Maria
      Monika Petra Elisabeth Sabine Renate Helga Karin Brigitte Ingrid Erika Andrea Gisela`,
    family: `Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter Klein Wolf Schröder
      Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange Schmitt Werner Krause Meier Lehmann`,
  },
  EG: {
    given: `Mohamed Ahmed Mahmoud Mostafa Ibrahim Ali Hassan Hussein Khaled Omar Youssef Tarek Abdullah Karim Amr Sayed Fatma Mona Aya
      Mariam Nour Salma Heba Amira Rania Yasmin Sara Eman Doaa Samira`,
    family: `Mohamed Ahmed Ali Hassan Mahmoud Ibrahim Mostafa Abdullah Hussein Sayed Khalil Saleh Osman Youssef Kamal Farouk Mansour
      Fathy Gamal Salem Soliman Ramadan Abdelrahman Shaaban Saad Ismail Nasser Ashraf Adel Samir`,
  },
  ES: {
    given: `Antonio Manuel José Francisco David Juan Javier Daniel Carlos Jesús Alejandro Miguel Rafael Pedro Pablo Ángel Sergio Fernando
      María Carmen Ana Isabel Laura Cristina Dolores Pilar Marta Lucía Elena Raquel`,
    family: `García Rodríguez González Fernández López Martínez Sánchez Pérez Gómez Martín Jiménez Hernández Ruiz Díaz Moreno Muñoz
      Álvarez Romero Gutiérrez Alonso Navarro Torres Domínguez Ramos Vázquez Ramírez Gil Serrano Molina Blanco`,
  },
  FR: {
    given: `Jean Pierre Michel Philippe Alain Patrick Nicolas Christophe Daniel Bernard Laurent Frédéric Thomas Julien Stéphane Éric
      Marie Nathalie Isabelle Sylvie Catherine Martine Christine Françoise Valérie Sandrine Stéphanie Véronique Sophie Céline`,
    family: `Martin Bernard Thomas Petit Robert Richard Durand Dubois Moreau Laurent Simon Michel Lefebvre Leroy Roux David Bertrand
      Morel Fournier Girard Bonnet Dupont Lambert Fontaine Rousseau Vincent Muller Lefèvre Faure André`,
  },
  GB: {
    given: `David John Michael Paul Andrew Peter James Robert Richard Mark Stephen Christopher William Daniel Thomas Matthew Margaret
      Susan Sarah Elizabeth Mary Patricia Jacqueline Karen Helen Emma Julie Linda Christine Claire`,
    family: `Smith Jones Taylor Brown Williams Wilson Johnson Davies Robinson Wright Thompson Evans Walker White Roberts Green Hall Wood
      Jackson Clarke Patel Khan Lewis James Phillips Mason Mitchell Rose Davis Hughes`,
  },
  GR: {
    given: `Georgios Dimitrios Konstantinos Ioannis Nikolaos Panagiotis Christos Vasileios Athanasios Michail Evangelos Spyridon Antonios
      Anastasios Theodoros Andreas Maria Eleni Aikaterini Vasiliki Sofia Angeliki Georgia Dimitra Konstantina Paraskevi Anna Ioanna
      Evangelia Christina`,
    family: `Papadopoulos Papageorgiou Vlachos Angelopoulos Nikolaidis Georgiou Dimitriou Oikonomou Papadakis Makris Konstantinidis
      Karagiannis Antoniou Alexiou Ioannidis Christodoulou Pappas Papadimitriou Athanasiou Nikolaou Vasileiou Petropoulos Samaras
      Papadopoulou Georgiadis Theodorou Michailidis Anagnostopoulos Panagiotopoulos Kostopoulos`,
  },
  HU: {
    given: `László István József János Zoltán Sándor Gábor Ferenc Attila Péter Tamás Zsolt Tibor András Csaba Imre Mária Erzsébet Katalin
      Ilona Éva Anna Zsuzsanna Margit Judit Ágnes Andrea Julianna Ildikó Erika`,
    family: `Nagy Kovács Tóth Szabó Horváth Varga Kiss Molnár Németh Farkas Balogh Papp Lakatos Takács Juhász Oláh Mészáros Simon Rácz
      Fekete Szilágyi Török Fehér Balázs Gál Kis Szűcs Orsós Kocsis Fodor`,
  },
  ID: {
    given: `Muhammad Ahmad Agus Budi Eko Dedi Hendra Andi Rudi Joko Slamet Bambang Rizky Dwi Adi Teguh Siti Sri Dewi Nur Ani Ratna Fitri
      Lestari Wahyuni Endang Yuni Rina Indah Ayu`,
    family: `Setiawan Saputra Santoso Wijaya Susanto Hidayat Kurniawan Pratama Nugroho Wibowo Gunawan Suryadi Purnomo Siregar Nasution
      Lubis Simanjuntak Sihombing Ginting Harahap Rahman Hasan Ismail Sari Rahayu Utami Handayani Wulandari Puspita Anggraini`,
  },
  IN: {
    given: `Ram Mohammed Rajesh Sanjay Suresh Vijay Anil Rahul Amit Ashok Sunil Ravi Ramesh Manoj Mukesh Deepak Sunita Anita Geeta Lakshmi
      Priya Pooja Rekha Neha Kavita Asha Usha Savita Santosh Meena`,
    family: `Kumar Singh Sharma Devi Patel Das Khan Gupta Yadav Reddy Rao Nair Mishra Joshi Mehta Shah Verma Jain Chauhan Pandey Pillai
      Iyer Mukherjee Chatterjee Bose Begum Ali Thakur Agarwal Naidu`,
  },
  IR: {
    given: `Mohammad Ali Hossein Mehdi Reza Hassan Amir Ahmad Abbas Mahmoud Mostafa Saeed Hamid Majid Javad Ebrahim Fatemeh Zahra Maryam
      Masoumeh Sakineh Zeinab Leila Narges Somayeh Mahsa Nasrin Elham Parisa Sara`,
    family: `Mohammadi Hosseini Ahmadi Karimi Rezaei Moradi Jafari Heydari Rahimi Hashemi Ebrahimi Mousavi Akbari Ghasemi Kazemi Rostami
      Sadeghi Salehi Soltani Hassani Zare Rahmani Bagheri Amiri Mohammadpour Yousefi Asadi Najafi Shahbazi Alizadeh`,
  },
  IT: {
    given: `Giuseppe Giovanni Antonio Mario Luigi Francesco Marco Andrea Alessandro Roberto Stefano Paolo Salvatore Angelo Vincenzo Luca
      Maria Anna Giuseppina Rosa Angela Giovanna Francesca Laura Teresa Lucia Paola Elena Sara Giulia`,
    family: `Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo Conti Costa Giordano Mancini Rizzo
      Lombardi Moretti Barbieri Fontana Santoro Mariani Rinaldi Caruso Ferrara Galli Martini Leone`,
  },
  KR: {
    given: `Minjun Seojun Dohyun Jihoon Junseo Hyunwoo Donghyun Sungmin Jaehyun Youngsoo Kwangsoo Youngho Sangchul Jungsoo Jinwoo Minho
      Seoyeon Jiwoo Minseo Haeun Jimin Subin Eunji Yuna Jiyoung Soojin Hyejin Youngja Sunja Kyungsook`,
    family: `Kim Lee Park Choi Jung Kang Cho Yoon Jang Lim Han Oh Seo Shin Kwon Hwang Ahn Song Ryu Hong Jeon Ko Moon Son Yang Bae Baek Heo
      Nam Yoo`,
    isFamilyFirst: true,
  },
  MA: {
    given: `Mohamed Ahmed Youssef Hassan Rachid Said Abdellah Omar Hamza Mehdi Khalid Mustapha Brahim Abdelaziz Driss Karim Fatima Khadija
      Aicha Malika Naima Zineb Meryem Salma Hanane Samira Latifa Nadia Imane Asmae`,
    family: `Alaoui Idrissi Bennani Tazi Benjelloun Chraibi Berrada Fassi Amrani Cherkaoui Filali Naciri Tahiri Bouazza Ouazzani Benali
      Haddad Mansouri Saidi Rachidi Lahlou Slaoui Kabbaj Ziani Skalli Belhaj Bouzidi Hamdaoui Moussaoui Daoudi`,
  },
  MX: {
    given: `José Juan Luis Carlos Jesús Antonio Francisco Miguel Alejandro Jorge Pedro Manuel Fernando Roberto Ricardo Eduardo María
      Guadalupe Juana Margarita Verónica Alejandra Patricia Leticia Gabriela Rosa Martha Ana Silvia Elizabeth`,
    family: `Hernández García Martínez López González Rodríguez Pérez Sánchez Ramírez Flores Gómez Cruz Morales Vázquez Jiménez Reyes
      Torres Díaz Gutiérrez Mendoza Ruiz Aguilar Ortiz Castillo Moreno Romero Álvarez Méndez Chávez Rivera`,
  },
  NG: {
    given: `Mohammed Ibrahim Musa Abubakar Sani Usman Emmanuel Chukwuemeka Samuel John Peter Joseph Oluwaseun Tunde Chinedu Ifeanyi
      Fatima Aisha Blessing Mary Grace Ngozi Chioma Zainab Hauwa Amina Funmilayo Joy Elizabeth Patience`,
    family: `Ibrahim Musa Abubakar Mohammed Abdullahi Okafor Okeke Adeyemi Adebayo Eze Bello Sani Nwosu Okonkwo Usman Aliyu Lawal Yusuf
      Suleiman Garba Balogun Ogunleye Chukwu Obi Umar Okoro Nwachukwu Afolabi Olawale Danjuma`,
  },
  NL: {
    given: `Jan Johannes Cornelis Hendrik Willem Pieter Gerrit Jacobus Dirk Peter Marcel Erik Rob Bart Jeroen Martijn Maria Johanna Anna
      Cornelia Elisabeth Wilhelmina Hendrika Petra Monique Ingrid Linda Esther Marieke Sanne`,
    family: `de Jong|Jansen|de Vries|van den Berg|van Dijk|Bakker|Janssen|Visser|Smit|Meijer|de Boer|Mulder|de Groot|Bos|Vos|Peters|
      Hendriks|van Leeuwen|Dekker|Brouwer|de Wit|Dijkstra|Smits|de Graaf|van der Meer|van der Linden|Kok|Jacobs|de Haan|Vermeulen`,
  },
  PK: {
    given: `Muhammad Ahmed Ali Hassan Usman Bilal Imran Asif Tariq Khalid Nasir Waqas Zubair Shahid Abdul Faisal Fatima Ayesha Maryam
      Zainab Sana Hina Saima Nadia Rabia Amna Sadia Bushra Shazia Noreen`,
    family: `Khan Ahmed Ali Hussain Malik Iqbal Butt Shah Akhtar Mahmood Sheikh Qureshi Raza Javed Aslam Bibi Anwar Siddiqui Abbasi Bhatti
      Chaudhry Mirza Rehman Hashmi Rashid Nawaz Ashraf Saeed Hassan Yousaf`,
  },
  PL: {
    given: `Piotr Krzysztof Andrzej Tomasz Paweł Jan Michał Marcin Stanisław Jakub Adam Marek Łukasz Grzegorz Mateusz Wojciech Anna Maria
      Katarzyna Małgorzata Agnieszka Krystyna Barbara Ewa Elżbieta Zofia Teresa Magdalena Joanna Janina`,
    family: `Nowak Kowalski Wiśniewski Wójcik Kowalczyk Kamiński Lewandowski Zieliński Szymański Woźniak Dąbrowski Kozłowski Jankowski
      Mazur Kwiatkowski Krawczyk Piotrowski Grabowski Zając Pawłowski Michalski Król Wieczorek Jabłoński Wróbel Nowakowski Majewski
      Stępień Olszewski Kowalska`,
  },
  PT: {
    given: `José João António Manuel Francisco Carlos Paulo Pedro Luís Rui Jorge Miguel Tiago Nuno Ricardo Bruno Maria Ana Isabel Teresa
      Paula Cristina Sandra Carla Marta Sofia Inês Catarina Joana Rita`,
    family: `Silva Santos Ferreira Pereira Oliveira Costa Rodrigues Martins Jesus Sousa Fernandes Gonçalves Gomes Lopes Marques Alves
      Almeida Ribeiro Pinto Carvalho Teixeira Moreira Correia Mendes Nunes Soares Vieira Monteiro Cardoso Rocha`,
  },
  RO: {
    given: `Gheorghe Ion Vasile Constantin Ioan Alexandru Nicolae Mihai Andrei Marian Florin Cristian Adrian Dumitru Daniel Gabriel Maria
      Elena Ana Ioana Mihaela Andreea Alexandra Cristina Daniela Gabriela Georgeta Mariana Florentina Valentina`,
    family: `Popa Popescu Ionescu Pop Radu Ion Dumitru Stan Stoica Gheorghe Matei Rusu Mihai Ciobanu Constantin Marin Ionita Florea Stanciu
      Dinu Munteanu Dumitrescu Barbu Diaconu Ene Cristea Tudor Toma Nistor Sandu`,
  },
  RU: {
    given: `Aleksandr Sergei Vladimir Andrei Alexey Dmitry Nikolai Mikhail Ivan Yuri Viktor Evgeny Maxim Igor Oleg Pavel Elena Olga Natalia
      Tatiana Irina Anna Svetlana Maria Ekaterina Galina Lyudmila Yulia Marina Nadezhda`,
    family: `Ivanov Smirnov Kuznetsov Popov Vasiliev Petrov Sokolov Mikhailov Novikov Fedorov Morozov Volkov Alekseev Lebedev Semenov
      Egorov Pavlov Kozlov Stepanov Nikolaev Ivanova Smirnova Kuznetsova Popova Petrova Sokolova Orlova Morozova Volkova Makarova`,
  },
  SA: {
    given: `Mohammed Abdullah Fahad Khalid Abdulrahman Saad Ahmed Ali Sultan Faisal Turki Nasser Ibrahim Omar Salman Bandar Nora Sara Fatimah
      Maha Reem Aljawhara Hessa Munirah Latifa Abeer Amal Hanan Norah Lama`,
    family: `Al-Otaibi|Al-Qahtani|Al-Ghamdi|Al-Harbi|Al-Zahrani|Al-Dosari|Al-Shehri|Al-Mutairi|Al-Shammari|Al-Anazi|Al-Subaie|Al-Juhani|
      Al-Malki|Al-Asmari|Al-Amri|Al-Yami|Al-Saud|Al-Rashid|Al-Hazmi|Al-Balawi|Al-Enezi|Al-Shahrani|Al-Khaldi|Al-Omari|Al-Salem|
      Al-Hamad|Al-Qarni|Al-Thubaiti|Al-Ahmadi|Al-Saeed`,
  },
  SE: {
    given: `Lars Mikael Anders Johan Erik Per Karl Peter Jan Thomas Daniel Fredrik Andreas Hans Bengt Mats Anna Eva Maria Karin Sara
      Kristina Lena Emma Kerstin Ingrid Marie Malin Linda Birgitta`,
    family: `Andersson Johansson Karlsson Nilsson Eriksson Larsson Olsson Persson Svensson Gustafsson Pettersson Jonsson Jansson Hansson
      Bengtsson Jönsson Lindberg Jakobsson Magnusson Lindström Olofsson Lindqvist Lindgren Berg Axelsson Bergström Lundberg Lind Lundgren
      Mattsson`,
  },
  TR: {
    given: `Mehmet Mustafa Ahmet Ali Hüseyin Hasan İbrahim İsmail Osman Yusuf Murat Ömer Ramazan Halil Süleyman Abdullah Fatma Ayşe Emine
      Hatice Zeynep Elif Meryem Şerife Zehra Sultan Hanife Merve Havva Zeliha`,
    family: `Yılmaz Kaya Demir Çelik Şahin Yıldız Yıldırım Öztürk Aydın Özdemir Arslan Doğan Kılıç Aslan Çetin Kara Koç Kurt Özkan Şimşek
      Polat Korkmaz Özcan Erdoğan Güneş Aktaş Yavuz Bulut Keskin Ünal`,
  },
  UA: {
    given: `Oleksandr Serhii Volodymyr Mykola Ivan Andrii Vasyl Yurii Viktor Mykhailo Oleh Petro Dmytro Anatolii Ihor Bohdan Olena Tetiana
      Natalia Iryna Olha Oksana Svitlana Mariia Liudmyla Halyna Nadiia Yuliia Kateryna Viktoriia`,
    family: `Melnyk Shevchenko Boiko Kovalenko Bondarenko Tkachenko Kovalchuk Kravchenko Oliinyk Shevchuk Koval Polishchuk Bondar Tkachuk
      Moroz Marchenko Lysenko Rudenko Savchenko Petrenko Kravchuk Klymenko Ponomarenko Vasylenko Pavlenko Havryliuk Hryhorenko Sydorenko
      Romaniuk Mazur`,
  },
  US: {
    given: `James Robert John Michael David William Richard Joseph Thomas Christopher Charles Daniel Matthew Anthony Mark Steven Mary
      Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Karen Sarah Lisa Nancy Sandra Ashley`,
    family: `Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson Thomas
      Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis Robinson`,
  },
}

const namesIn = (text: string): readonly string[] =>
  text.split(text.includes('|') ? /\s*\|\s*/ : /\s+/).filter((name) => name !== '')

/** The common words of each country, in the form that comparisons use. */
const wordsByCountry = Object.values(names).map(
  ({ given, family }) => new Set([...namesIn(given), ...namesIn(family)].flatMap((name) => nameWords(name).telling)),
)
const commonWords = new Set(wordsByCountry.flatMap((words) => [...words]))
const soundsByCountry = wordsByCountry.map((words) => new Set([...words].map(phoneticForm)))

/** Reports whether a word, in the form that comparisons use, is a common name in some country. */
export const isCommonName = (word: string): boolean => commonWords.has(word)

/** Maps a sound to the countries in which it is a common name. */
const countriesOfSound = new Map(
  [...new Set(soundsByCountry.flatMap((sounds) => [...sounds]))].map((sound) => [
    sound,
    soundsByCountry.filter((sounds) => sounds.has(sound)),
  ]),
)
/** Reports whether both are different names in some country: Mahmoud is not a spelling of Mohamed, nor Wang of Yang. */
export const areDifferentNames = (one: string, other: string): boolean => {
  const countries = countriesOfSound.get(phoneticForm(one))
  const sound = countries && phoneticForm(other)
  return sound !== undefined && sound !== phoneticForm(one) && countries?.some((sounds) => sounds.has(sound)) === true
}

export const countriesWithNames: readonly string[] = Object.keys(names)

/** Draws different full names, each a given and a family name of the country (ISO 3166-1 alpha-2): at most half of all pairs. */
export function commonNames(country: string, seed: number, namesMax: number): readonly string[] {
  const { given = '', family = '', isFamilyFirst = false } = names[country] ?? {}
  const [firsts, lasts] = [namesIn(given), namesIn(family)]
  const random = createRandom(mixSeed(country, seed))
  const found = new Set<string>()
  while (found.size < Math.min(namesMax, (firsts.length * lasts.length) / 2)) {
    const [first, last] = [pick(random, firsts), pick(random, lasts)]
    if (first !== last) found.add(isFamilyFirst ? `${last} ${first}` : `${first} ${last}`)
  }
  return [...found]
}
