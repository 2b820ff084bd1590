//! The page of a cross-play evaluation: the solve rates of the pairs that it played.

use actix_web::HttpResponse;
use askama::Template;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::EvaluationFrame;
use crate::api_error::ApiError;
use crate::frame::layout::Layout;
use crate::frame::sides::heat;
use crate::frame::text::inert;
use crate::frame::view::View;

/// A pair, as the planner's result has it.
#[derive(Clone, Debug, Deserialize)]
struct Cell {
    teacher: Uuid,
    teacher_name: String,
    student: Option<Uuid>,
    student_name: Option<String>,
    problems: i64,
    attempts: i64,
    solve_rate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

/// A member in the head of a row or column.
#[derive(Clone, Debug, PartialEq)]
struct Head {
    member: Uuid,
    name: String,
}

#[derive(Template, Serialize)]
#[template(path = "evaluations/cross_play.html")]
struct CrossPlayPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    frame: EvaluationFrame,
    #[serde(skip)]
    cells: Vec<Cell>,
    #[serde(skip)]
    students: Vec<Head>,
    #[serde(skip)]
    teachers: Vec<Head>,
}

impl CrossPlayPage {
    fn cell(&self, teacher: &Head, student: &Head) -> Option<&Cell> {
        let mut cells = self.cells.iter();
        cells.find(|cell| cell.teacher == teacher.member && cell.student == Some(student.member))
    }

    fn class(&self, cell: &Cell) -> String {
        heat(cell.solve_rate, (0.0, 1.0))
    }
}

pub(super) fn show(view: &View, frame: EvaluationFrame) -> Result<HttpResponse, ApiError> {
    let result = frame.line.evaluation.result.as_ref();
    let cells = result.and_then(|result| Vec::<Cell>::deserialize(&result["cells"]).ok()).unwrap_or_default();
    let (mut students, mut teachers) = (Vec::new(), Vec::new());
    let add = |heads: &mut Vec<Head>, member: Uuid, name: &str| {
        let head = Head { member, name: inert(name) };
        if !heads.contains(&head) {
            heads.push(head);
        }
    };
    for cell in &cells {
        add(&mut teachers, cell.teacher, &cell.teacher_name);
        if let (Some(student), Some(name)) = (cell.student, &cell.student_name) {
            add(&mut students, student, name);
        }
    }
    view.show(&CrossPlayPage { layout: frame.layout(view), frame, cells, students, teachers })
}
