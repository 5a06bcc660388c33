"""Word lists of the offline language tools. English, and data only: what a word is not, decided by list.

A list cannot know every word. It has to know the frequent ones, because an error there repeats in every memory.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words that carry no subject: function words, auxiliaries, adverbs, the small talk of chats.
STOPWORDS = _words("""
a able about above absolutely across actually after afterwards again against ago ah ain't all almost alone along
already also although always am amazing amid among an and another any anybody anyhow anymore anyone anything anyway
anywhere apart are aren't around as aside at aw aware away awesome awhile back bad badly barely basically be became
because become becomes becoming been before beforehand behind being below beneath beside besides best better between
beyond big bigger bit both briefly but by bye can can't cannot certain certainly clearly close come comes coming
completely cool could couldn't cute dear definitely despite did didn't different do does doesn't doing don't done down
due during each easily easy eh either else elsewhere enough entirely especially etc even eventually ever every
everybody everyone everything everywhere exactly except exciting excited extra extremely fairly far fast few fewer
fine finally first firstly for former forward frankly free fresh from full fully fun further furthermore gave general
generally get gets getting give given gives giving glad go goes going gone gonna good gorgeous got gotta gotten great
greatly guess ha had hadn't haha happily happy hard hardly has hasn't have haven't having he he'd he'll he's heck
hello hence her here here's hers herself hey hi high him himself his hmm hopefully how how's however huge i i'd i'll
i'm i've if in incredible indeed inside instead interesting into is isn't it it'd it'll it's its itself just keep
keeps kind kinda know known knows large largely last lastly late lately later least less lest let let's lets like
liked likely likes little lol long look looking looks lot lots lovely low made main mainly make makes making many may
maybe me mean means meanwhile might mightn't mine more moreover most mostly much must mustn't my myself namely near
nearby nearly need needed needs neither never nevertheless new next nice no nobody none nonetheless nope nor normally
not nothing now nowhere obviously of off oh ok okay old omg on once one one's ones only onto oops open or other others
otherwise ought our ours ourselves out outside over overall own part particular particularly past per perfect
perfectly perhaps please plus possible possibly pretty previous previously probably properly put quick quickly quite
rather ready real really recent recently regardless related right round said same saw say saying says second secondly
see seeing seem seemed seems seen self several shall shan't she she'd she'll she's should shouldn't similar simple
simply since small so some somebody somehow someone something sometimes somewhat somewhere soon sorry sort special
still strong stuff such super sure surely sweet take taken takes taking tell tells than thank thanks that that's
that'd the their theirs them themselves then thence there there's thereby therefore these they they'd they'll they're
they've thing things think thinking third this those though thought thoughts through throughout thus till to together
too took totally toward towards tried tries truly try trying twice two type typically ugh um under unfortunately
unless unlike until up upon us use used uses using usual usually various very via vs wanna want wanted wants was
wasn't way ways we we'd we'll we're we've well went were weren't what what's whatever when when's whenever where
where's whereas wherever whether which whichever while who who's whoever whole whom whose why why's will with within
without won't wonderful wont worth would wouldn't wow yeah yep yes yet you you'd you'll you're you've your yours
yourself yourselves yay
""")

#: Names of times. They are written with capitals and shared by memories that have nothing else in common.
TIME = _words("""
monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
sundays mon tue tues wed thu thur thurs fri sat sun january february march april may june july august september
october november december jan feb mar apr jun jul aug sep sept oct nov dec today tomorrow yesterday tonight morning
mornings afternoon evening evenings night nights noon midnight day days week weeks weekend weekends month months year
years hour hours minute minutes second seconds moment moments time times date am pm utc gmt spring summer autumn fall
winter decade century quarter daily weekly monthly yearly annual christmas easter
""")

#: Adjectives among them that begin the name of a place or a work when written with a capital.
NAMING = _words("new old big great good long high low real lost red first second third last")

#: Verb forms that stand beside nouns without making a phrase with them: `stay safe`, `helping people`.
BREAKERS = _words("""
appreciate appreciates appreciating begin begins bring brings bringing brought build builds built buy buying call
calls calling check checks checking choose choosing create creates created creating decided enjoy enjoys enjoyed
enjoying ensure exist exists explore explores exploring fails failed feel feels feeling felt find finds finding found
fix fixed fixing focus follows gave giving happen happened happens hear hearing help helped helps helping hope hoping
imagine improve improving includes increase keeping learn leave leaving let listen listens listening live lives living
love loved loves loving make meet meets miss missing move moves moved moving pay paying pays pick picked picking play
played plays playing prefer prefers promise reach reaching read reminds requires returns run runs running sends share
shared sharing show showed shows showing sit sitting sounds spend spending spent spread spreading stand standing
stands start started starting starts stay stayed stays staying stop stopped stopping supports take taking talk talked
talking teach think thinking travel try using visit visited visiting volunteer volunteering wait waiting walk walked
walking wants watch watched watching win winning wins won works wonder write writing wrote
""")

#: Words that open a sentence or a bullet with a capital and are no name: verbs, labels, frequent nouns.
OPENERS = _words("""
accept accepted action actions add adjust agree allow alternative amount announce answer answers apologies apparently
apply approve archive area arrange article articles ask asks assign assume attach attempt author avoid background
backup backups balance base begin behavior benefit benefits block book books boss branch break bring browse bug bugs
build builds business buy call calls cancel capture care case cases cat cats cause caution challenge change changes
chapter chat check checks checklist child children choose chose city class clean clear click client clients clone
closed code coffee collect color colors combine command commands comment comments commit common company compare
complete conclusion configure confirm congrats congratulations connect consequence consider contact contains content
context continue convert cook copy correct cost costs count country couple course cover crash create credit critical
current currently customer customers cut dad data database databases deadline deal decide decision decisions default
define delay delete deliver demo depending deploy deploys describe description design desk detail details dev device
devices dinner disable discuss doctor document documents documentation dog dogs dogs download draft draw drink drive
drop duplicate edit effect email employees empty enable end engineer engineers ensure enter entry error errors
escalate essential estimate event events evidence example examples execute exercise expand expect experience explain
export extract fact facts fail failure failures family father favorite features feature feel field fields figure file
files fill filter find fire fix fixes fixed flight focus folder follow food force forget form format found fridge
friend friends function functions game games generate girl goal goals got grab group groups grow guide guy guys half
handle have health hear heard height help highlight hint history hit hold home hope hotel house houses idea ideas
identify ignore image images implement import important include includes increase info information initial input
insert install instructions interface internal introduction investigate invite issue issues item items job join jobs
journal kids key keys kitchen label language launch lead learn leave left legacy lesson lessons level library limit
limits line lines link links list lists load locate lock log logs lost love lunch mail maintain major manager managers
map mark market match meet meeting meetings memory memories mention menu merge message messages met method methods
migrate minor missing mode model models modify mom money monitor mother move moved movie music name names node nodes
none note notes notice number numbers object observe offer office offices optional option options order orders
organize original outcome output owner page pages paper parents parse password pasta people person phone photo photos
pick picture pipeline place places plan plans plants play point points policy port ports position possible post
practice prefer prefers prepare present press prevent price prices primary print priority private problem problems
process product products profile program project projects promise proposal protect provide public publish pull purpose
push query question questions queue quote rain raise ran rate rates reach read reason reasons received recipe recipes
record records reduce refactor refresh reject release releases remember remind reminder remove rename render repeat
replace reply report reports request requests require required requirements reset resolve response rest restart
restore result results retry return review reviews rewrite risk risks road role rollback room root rotate rule rules
run runs sad sales sample save scan schedule school scope score script scripts search secondary section secret
security select send sends sent server servers service services session set sets setup share ship shop short show
shows shut sign simplify single sister site size skip sleep slow snapshot snow software solution solve someday song
sort source sources speak specify speed split staff stage staging standup start starts state state statement states
status stay step steps stick stop stops store stored stories story strategy street student students study subject
submit success suggest suggestion suggestions summarize summary support suppose suspect switch system systems table
tables tag tags target task tasks tasty tea teacher team teams test tests text theme thinks tip tips title todo token
tokens tool tools top topic total touch town traffic train transfer travel trip trust turn turns understand uninstall
unit update updates upgrade upload url usage user users validate value values verify version versions video videos
view visit wait walk wall warning warnings warn wash watch water wear weather weight welcome wife will wish women won
wonder life nature art dance music peace nodes staging word words work worked works workflow world worry wrap write
writes wrong wrote yay zero
""")

#: Capitals used for emphasis or as a mark of state, not as an acronym.
NOT_ACRONYMS = _words("""
a i all also and any anything are as at be before but by can cannot do does dont done even ever every everything fixme
for from had has have here how if important in into is just later less lol lot may me more most much must my needs
never new no none nope not note now nothing of off oh ok okay omg on once one only or our out over please really same
shall should so stop super than that the their them then there these they this those to todo too tbd tldr until up
urgent use very via warning was we well were what when where which who why will with without wow xxx yes yet you your
am pm btw fyi imo imho afaik wip asap aka etc eg ie vs re na nb ps rip ad bc lmao idk tbh brb hah haha yay nice great
love good bad
""")

#: What a person does, and hardly a thing: `Ana moved`, `Ben thinks`.
PERSON_VERBS = _words("""
agreed agrees approved approves argued argues asked asks asserts believes bought called calls came chose complained
confirmed cooks decided declined denied dislikes drives emailed enjoys explained feels felt forgot gave got graduated
grew hates heard hired insisted joined keeps knew knows lacks leads learned learns left liked likes lives loved loves
manages married mentioned met mentors moved needs noted noticed offered owned owns paid plans plays pointed prefers
promised proposed quit recommended recommends rejected replied reported resigned reviewed reviews said sat saw says
sent speaks spoke started stayed studied studies suggested suggests talked teaches texted thinks thought told took
travels turned understands wanted wants went wishes wondered works worries writes wrote
""")

#: Verbs that follow a name as easily as a thing.
AUXILIARIES = _words(
    "is was has had will would can could should may might must does did isn't wasn't won't doesn't and"
)

#: Written with a full stop that ends no sentence.
ABBREVIATIONS = _words("""
mr mrs ms dr prof rev gen sen rep st sgt capt lt col sr jr fig figs no nos vol vols ch chs sec secs art eq eqs ref
refs vs v cf e.g i.e eg ie viz al approx est ca c min max avg dept univ assn bros inc ltd co corp llc gmbh etc jan feb
mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun a.m p.m a.k.a u.s u.k u.s.a e.u ph.d d.c b.c p.s
n.b bzw z.b d.h usw ggf nr str tel hr hrs mt ft oz lb lbs pp p ed eds trans misc incl excl resp temp ext
""")

#: Of those, the ones that in small letters are words or units of their own: `3 ms. See`, but `Ms. Lee`.
UNITS = _words("ms mt gen rep sen no nos min max avg sec secs art ref refs ext temp col rev fig figs lb oz sat sun")

#: Of those, the ones a sentence may end with when a capital follows.
CLOSING = _words("inc ltd co corp llc gmbh etc jr sr a.m p.m u.s u.k u.s.a e.u ph.d al usw hrs lbs oz ft")
