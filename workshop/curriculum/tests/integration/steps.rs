//! Pairs of programs that are a step from each other.

use lyceum_curriculum::steps::{Axis, Steps};
use lyceum_curriculum::{Executed, Level};

fn program(level: usize, source: &str) -> Executed {
    Executed {
        source: source.to_owned(),
        level: Level::ALL[level - 1],
        pairs: Vec::new(),
        traces: Vec::new(),
        candidates: Vec::new(),
    }
}

#[test]
fn a_step_shares_words_and_goes_along_one_axis() {
    let programs = [
        // Words: each modulo if add.
        program(4, "def f(x):\n r=0\n for v in x:\n  if v%2==0:\n   r+=v\n return r"),
        // Words: each add. The same form, a level lower.
        program(3, "def f(x):\n r=0\n for v in x:\n  r+=v\n return r"),
        // As the one above, of another form.
        program(3, "def f(y):\n r=0\n for v in y:\n  r+=v\n return r"),
        // The form of the first, no word in common.
        program(3, "def f(x):\n return x[::-1]*2"),
        // The first one's words on numbers instead of a list.
        program(4, "def f(n):\n r=0\n for i in range(n):\n  if i%2==0:\n   r+=i\n return r"),
        // Its words on something as rich.
        program(4, "def f(s):\n r=0\n for c in s:\n  if len(c)%2==0:\n   r+=1\n return r"),
        // Two levels below the first.
        program(2, "def f(x):\n return [v+1 for v in x]"),
    ];
    let listed: Vec<&Executed> = programs.iter().collect();
    let steps = Steps::among(&listed);
    assert_eq!(steps.easier(Axis::F, 0), [1]);
    assert_eq!(steps.easier(Axis::Io, 0), [4]);
    assert_eq!(steps.easier(Axis::F, 1), [6], "from level 3 to level 2");
    assert!(steps.easier(Axis::Io, 4).is_empty(), "nothing is simpler than a number");
    assert!(steps.easier(Axis::F, 6).is_empty() && steps.easier(Axis::F, 99).is_empty());
}

#[test]
fn the_most_similar_ones_are_kept_and_come_first() {
    let harder = program(2, "def f(x):\n m=sum(x)\n return max(x)-m");
    let far = program(1, "def f(x):\n return sum(x)-len(x)");
    let near = program(1, "def f(x):\n return max(x)-sum(x)");
    let mut programs = vec![harder, far.clone(), near];
    let ends = |programs: &[Executed]| {
        let listed: Vec<&Executed> = programs.iter().collect();
        Steps::among(&listed).easier(Axis::F, 0).to_vec()
    };
    assert_eq!(ends(&programs), [2, 1]);
    programs.extend(std::iter::repeat_n(far, 20));
    let many = ends(&programs);
    assert_eq!((many.len(), many[0], many[1]), (6, 2, 1));
}
